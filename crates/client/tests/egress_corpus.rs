//! URLs and answers of name servers that are made to reach what a stranger may not reach. None of
//! them is dialled: they are refused, and where the address is this machine's, somebody listens
//! there and counts.

use std::net::IpAddr;

use llamon_client::egress::{Egress, EgressBuilder, EgressError, Method};
use support::{Names, Server, json};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

/// URLs that are refused as they are read, and a part of the reason. `PORT` is a port where
/// somebody listens on this machine.
const URLS: &[(&str, &str)] = &[
    // This machine, in all the ways that a URL parser reads.
    ("http://127.0.0.1:PORT/", "loopback"),
    ("http://127.0.0.1:PORT", "loopback"),
    ("http://127.1:PORT/", "loopback"),
    ("http://127.0.1:PORT/", "loopback"),
    ("http://127.127.127.127:PORT/", "loopback"),
    ("http://127.255.255.254:PORT/", "loopback"),
    ("http://2130706433:PORT/", "loopback"),
    ("http://017700000001:PORT/", "loopback"),
    ("http://0x7f000001:PORT/", "loopback"),
    ("http://0X7F.1:PORT/", "loopback"),
    ("http://0177.0.0.1:PORT/", "loopback"),
    ("http://0177.0x0.0.01:PORT/", "loopback"),
    ("http://0x7f.0x0.0x0.0x1:PORT/", "loopback"),
    ("http://127.0x000001:PORT/", "loopback"),
    // Octal, and public; whoever reads it as decimal is on this machine.
    ("http://0000000127.0.0.1:PORT/", "not written plainly"),
    ("https://0x08.8.8.8/", "not written plainly"),
    ("https://134744072/", "not written plainly"),
    ("https://8.8.8.8./", "not written plainly"),
    ("http://127.0.0.1.:PORT/", "loopback"),
    ("http://%31%32%37.0.0.1:PORT/", "loopback"),
    ("http://127%2e0%2e0%2e1:PORT/", "loopback"),
    ("http://１２７.０.０.１:PORT/", "loopback"),
    ("http://①②⑦.⓪.⓪.①:PORT/", "loopback"),
    ("http://𝟏𝟐𝟕.𝟎.𝟎.𝟏:PORT/", "loopback"),
    ("http://127。0。0。1:PORT/", "loopback"),
    ("http://127．0．0．1:PORT/", "loopback"),
    ("http://127｡0｡0｡1:PORT/", "loopback"),
    ("http://127.0.0.\u{ad}1:PORT/", "loopback"),
    ("http://127.0.0.\u{200b}1:PORT/", "loopback"),
    ("http://[::1]:PORT/", "loopback"),
    ("http://[0:0:0:0:0:0:0:1]:PORT/", "loopback"),
    (
        "http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/",
        "loopback",
    ),
    ("http://[::0.0.0.1]:PORT/", "loopback"),
    ("http://[::ffff:127.0.0.1]:PORT/", "written as IPv6"),
    ("http://[::ffff:7f00:1]:PORT/", "written as IPv6"),
    ("http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/", "written as IPv6"),
    ("http://[::FFFF:7F00:0001]:PORT/", "written as IPv6"),
    ("http://[::ffff:8.8.8.8]:PORT/", "written as IPv6"),
    ("http://[::127.0.0.1]:PORT/", "IPv4-compatible"),
    ("http://[64:ff9b::127.0.0.1]:PORT/", "NAT64"),
    ("http://[64:ff9b:1::127.0.0.1]:PORT/", "local NAT64"),
    ("http://[2002:7f00:1::]:PORT/", "6to4"),
    ("http://[::ffff:0:127.0.0.1]:PORT/", "not a global unicast"),
    ("http://localhost:PORT/", "this machine"),
    ("http://LOCALHOST:PORT/", "this machine"),
    ("http://localhost.:PORT/", "this machine"),
    ("http://localhost%2e:PORT/", "this machine"),
    ("http://ｌｏｃａｌｈｏｓｔ:PORT/", "this machine"),
    ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/", "this machine"),
    ("http://%6c%6f%63%61lhost:PORT/", "this machine"),
    ("http://loc\u{ad}alhost:PORT/", "this machine"),
    ("http://foo.localhost:PORT/", "this machine"),
    ("http://a.b.localhost.:PORT/", "this machine"),
    ("http://localhost。:PORT/", "this machine"),
    ("http://localhost.localdomain:PORT/", "this machine"),
    ("http://localhost6:PORT/", "this machine"),
    ("http://ip6-localhost:PORT/", "this machine"),
    ("http://ip6-loopback:PORT/", "this machine"),
    ("http://0.0.0.0:PORT/", "this network"),
    ("http://0:PORT/", "this network"),
    ("http://0x0:PORT/", "this network"),
    ("http://000000:PORT/", "this network"),
    ("http://0.0.0.1:PORT/", "this network"),
    ("http://[::]:PORT/", "no address"),
    ("http://[::ffff:0.0.0.0]:PORT/", "written as IPv6"),
    // Metadata services.
    ("http://169.254.169.254/latest/meta-data/", "link-local"),
    ("https://169.254.169.254/latest/meta-data/", "link-local"),
    ("http://2852039166/latest/meta-data/", "link-local"),
    ("http://0xA9FEA9FE/", "link-local"),
    ("http://0xa9.0xfe.0xa9.0xfe/", "link-local"),
    ("http://0251.0376.0251.0376/", "link-local"),
    ("http://025177524776/", "link-local"),
    ("http://169.254.43518/", "link-local"),
    ("http://169.16689662/", "link-local"),
    ("http://169。254。169。254/", "link-local"),
    ("http://１６９.２５４.１６９.２５４/", "link-local"),
    ("http://169.254.169.254./", "link-local"),
    ("http://[::ffff:169.254.169.254]/", "written as IPv6"),
    ("http://[::ffff:a9fe:a9fe]/", "written as IPv6"),
    ("http://[64:ff9b::a9fe:a9fe]/", "NAT64"),
    ("http://[2002:a9fe:a9fe::1]/", "6to4"),
    ("http://169.254.170.2/v2/credentials", "link-local"),
    ("http://169.254.170.23/v1/credentials", "link-local"),
    ("http://169.254.0.23/", "link-local"),
    ("http://169.254.42.42/conf", "link-local"),
    ("http://100.100.100.200/latest/meta-data/", "metadata"),
    ("http://168.63.129.16/metadata/instance", "metadata"),
    ("http://192.0.0.192/latest/", "protocol's"),
    ("http://[fd00:ec2::254]/latest/meta-data/", "metadata"),
    ("http://[fd00:ec2::23]/v1/credentials", "metadata"),
    ("http://[fd20:ce::254]/computeMetadata/v1/", "metadata"),
    ("http://[fd00:c1::a9fe:a9fe]/opc/v2/", "metadata"),
    ("http://[fd00:42::42]/conf", "metadata"),
    (
        "http://metadata.google.internal/computeMetadata/v1/",
        "metadata",
    ),
    (
        "https://metadata.google.internal./computeMetadata/v1/",
        "metadata",
    ),
    ("http://METADATA.GOOGLE.INTERNAL/", "metadata"),
    ("http://metadata.goog/", "metadata"),
    ("http://metadata/computeMetadata/v1/", "metadata"),
    ("http://instance-data/latest/meta-data/", "metadata"),
    ("http://instance-data.ec2.internal/latest/", "metadata"),
    (
        "http://metadata.tencentyun.com/latest/meta-data/",
        "metadata",
    ),
    ("http://metadata.platformequinix.com/metadata", "metadata"),
    ("http://metadata.azure.internal/", "metadata"),
    ("http://rancher-metadata/latest", "metadata"),
    // Private networks, and what is nobody's.
    ("https://10.0.0.1/", "private"),
    ("https://10.255.255.255/", "private"),
    ("https://0x0a000001/", "private"),
    ("https://012.1/", "private"),
    ("https://167772161/", "private"),
    ("https://172.16.0.1/", "private"),
    ("https://172.31.255.255/", "private"),
    ("https://192.168.0.1/", "private"),
    ("https://192.168.1/", "private"),
    ("https://3232235521/", "private"),
    ("https://100.64.0.1/", "CGNAT"),
    ("https://100.127.255.254/", "CGNAT"),
    ("https://169.254.1.1/", "link-local"),
    ("https://198.18.0.1/", "benchmarking"),
    ("https://198.19.255.254/", "benchmarking"),
    ("https://192.0.2.1/", "documentation"),
    ("https://198.51.100.1/", "documentation"),
    ("https://203.0.113.1/", "documentation"),
    ("https://192.88.99.1/", "6to4"),
    ("https://224.0.0.1/", "multicast"),
    ("https://239.255.255.250/", "multicast"),
    ("https://240.0.0.1/", "reserved"),
    ("https://255.255.255.255/", "reserved"),
    ("https://4294967295/", "reserved"),
    ("https://[fc00::1]/", "unique local"),
    ("https://[fdff:ffff::1]/", "unique local"),
    ("https://[fe80::1]/", "link-local"),
    ("https://[febf::1]/", "link-local"),
    ("https://[fec0::1]/", "site-local"),
    ("https://[ff02::1]/", "multicast"),
    ("https://[2001:db8::1]/", "documentation"),
    ("https://[3fff::1]/", "documentation"),
    ("https://[2001::1]/", "protocol's"),
    (
        "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
        "protocol's",
    ),
    ("https://[2001:2::1]/", "protocol's"),
    ("https://[2001:20::1]/", "protocol's"),
    ("https://[100::1]/", "discard"),
    ("https://[5f00::1]/", "not a global unicast"),
    ("https://[64:ff9b::10.0.0.1]/", "NAT64"),
    ("https://[64:ff9b::c0a8:1]/", "NAT64"),
    ("https://[64:ff9b:1::a00:1]/", "local NAT64"),
    ("https://[2002:a00:1::]/", "6to4"),
    ("https://[::10.0.0.1]/", "IPv4-compatible"),
    ("https://printer.local/", "private network's"),
    ("https://db.corp.internal/", "private network's"),
    ("https://router.lan./", "private network's"),
    ("https://nas.home.arpa/", "private network's"),
    (
        "https://kubernetes.default.svc.cluster.local/",
        "private network's",
    ),
    ("https://kubernetes/", "without a domain"),
    ("https://intranet./", "without a domain"),
    // What is no plain web URL.
    ("", "not one"),
    ("hook.example.com", "not one"),
    ("//hook.example.com/", "not one"),
    ("https://", "empty host"),
    ("https:///", "empty host"),
    ("https://:443/", "empty host"),
    ("https:hook.example.com/", "no host after"),
    ("https:/hook.example.com/", "no host after"),
    ("https:///hook.example.com/", "no host after"),
    ("https:\\\\hook.example.com/", "'\\\\' in it"),
    ("https://hook.example.com\\@127.0.0.1/", "'\\\\' in it"),
    ("https://hook.example.com/\\..\\", "'\\\\' in it"),
    (" https://hook.example.com/", "' ' in it"),
    ("https://hook.example.com/ ", "' ' in it"),
    ("https://hook.exam\tple.com/", "'\\t' in it"),
    (
        "https://hook.example.com/\r\nHost: 127.0.0.1",
        "'\\r' in it",
    ),
    ("https://hook.example.com/\u{0}", "'\\0' in it"),
    ("https://hook.example.com/\u{3000}", "in it"),
    ("https://hook example.com/", "not one"),
    ("https://hook.example.com%00.evil.example/", "not one"),
    ("https://hook.example.com:443:80/", "not one"),
    ("https://hook.example.com:65536/", "not one"),
    ("https://hook.example.com:-1/", "not one"),
    ("https://[::1/", "not one"),
    ("https://[fe80::1%25eth0]/", "not one"),
    ("https://[fe80::1%eth0]/", "not one"),
    ("https://[::ffff:127.0.0.0x1]/", "not one"),
    ("https://1.2.3.4.5/", "not one"),
    ("https://256.256.256.256/", "not one"),
    ("https://4294967296/", "not one"),
    ("https://hook..example.com/", "no name of a host"),
    ("https://hook.example.com../", "no name of a host"),
    ("https://.hook.example.com/", "no name of a host"),
    ("https://user@hook.example.com/", "user or password"),
    (
        "https://user:password@hook.example.com/",
        "user or password",
    ),
    ("https://:password@hook.example.com/", "user or password"),
    ("https://@hook.example.com/", "user or password"),
    (
        "https://hook.example.com@127.0.0.1:PORT/",
        "user or password",
    ),
    (
        "https://hook.example.com:443@127.0.0.1:PORT/",
        "user or password",
    ),
    (
        "https://hook.example.com%40@127.0.0.1:PORT/",
        "user or password",
    ),
    ("ftp://hook.example.com/", "no http:// or https://"),
    ("file:///etc/passwd", "no http:// or https://"),
    (
        "gopher://hook.example.com:6379/_INFO",
        "no http:// or https://",
    ),
    (
        "dict://hook.example.com:11211/stats",
        "no http:// or https://",
    ),
    ("ws://hook.example.com/", "no http:// or https://"),
    ("unix:///var/run/docker.sock", "no http:// or https://"),
    ("data:text/plain,x", "no http:// or https://"),
    ("javascript:alert(1)", "no http:// or https://"),
    ("jar:https://hook.example.com/!/", "no http:// or https://"),
    ("https+unix://hook.example.com/", "no http:// or https://"),
    // Ports of others.
    ("https://hook.example.com:0/", "port 0"),
    ("https://hook.example.com:22/", "port 22"),
    ("https://hook.example.com:25/", "port 25"),
    ("https://hook.example.com:80/", "port 80"),
    ("http://hook.example.com:443/", "port 443"),
    ("https://hook.example.com:445/", "port 445"),
    ("https://hook.example.com:1023/", "port 1023"),
    ("https://hook.example.com:2375/", "port 2375"),
    ("https://hook.example.com:2379/", "port 2379"),
    ("https://hook.example.com:3306/", "port 3306"),
    ("https://hook.example.com:5432/", "port 5432"),
    ("https://hook.example.com:6379/", "port 6379"),
    ("https://hook.example.com:6667/", "port 6667"),
    ("https://hook.example.com:9200/", "port 9200"),
    ("https://hook.example.com:10250/", "port 10250"),
    ("https://hook.example.com:11211/", "port 11211"),
    ("https://hook.example.com:27017/", "port 27017"),
];

/// Answers for a name that looks harmless, and a part of the reason.
const ANSWERS: &[(&[&str], &str)] = &[
    (&["127.0.0.1"], "loopback"),
    (&["127.8.8.8"], "loopback"),
    (&["::1"], "loopback"),
    (&["::ffff:127.0.0.1"], "loopback"),
    (&["::127.0.0.1"], "IPv4-compatible"),
    (&["0.0.0.0"], "this network"),
    (&["::"], "no address"),
    (&["10.1.2.3"], "private"),
    (&["172.20.0.1"], "private"),
    (&["192.168.1.1"], "private"),
    (&["::ffff:192.168.1.1"], "private"),
    (&["100.64.1.1"], "CGNAT"),
    (&["169.254.169.254"], "link-local"),
    (&["::ffff:169.254.169.254"], "link-local"),
    (&["64:ff9b::169.254.169.254"], "NAT64"),
    (&["64:ff9b::127.0.0.1"], "NAT64"),
    (&["64:ff9b:1::8.8.8.8"], "local NAT64"),
    (&["2002:7f00:1::"], "6to4"),
    (&["2002:808:808::1"], "6to4"),
    (&["2001:0:808:808::1"], "protocol's"),
    (&["100.100.100.200"], "metadata"),
    (&["168.63.129.16"], "metadata"),
    (&["fd00:ec2::254"], "metadata"),
    (&["fd12::1"], "unique local"),
    (&["fe80::1"], "link-local"),
    (&["ff0e::1"], "multicast"),
    (&["224.0.0.251"], "multicast"),
    (&["255.255.255.255"], "reserved"),
    (&["198.18.0.1"], "benchmarking"),
    (&["203.0.113.7"], "documentation"),
    (&["2001:db8::7"], "documentation"),
    (&["4000::1"], "not a global unicast"),
    // Mixed: the bad one is last, first, in the middle, of the other family.
    (&["8.8.8.8", "127.0.0.1"], "loopback"),
    (&["127.0.0.1", "8.8.8.8"], "loopback"),
    (&["8.8.8.8", "10.0.0.1", "1.1.1.1"], "private"),
    (&["8.8.8.8", "::1"], "loopback"),
    (&["2606:4700::1111", "127.0.0.1"], "loopback"),
    (
        &["8.8.8.8", "2606:4700::1111", "169.254.169.254"],
        "link-local",
    ),
];

fn loose(names: &Names) -> EgressBuilder {
    Egress::builder().allow_plain_http().resolver(names.clone())
}

async fn both_ways(egress: &Egress, url: &str) -> [EgressError; 2] {
    let checked = egress.check(url).await.expect_err(url);
    let asked = egress.request(Method::Post, url, &[], "{}").await;
    [checked, asked.expect_err(url)]
}

/// Somebody who listens on this machine, on both of its addresses where it has both.
async fn listening() -> Vec<Server> {
    let first = Server::start(|_, _, _| json("{}")).await;
    let second = Server::start_on(&format!("[::1]:{}", first.address().port())).await;
    std::iter::once(first).chain(second).collect()
}

/// Connections are accepted in their order, so that one of ours comes after all others.
async fn nobody_came_before(servers: &[Server]) {
    for server in servers {
        let url = server.url("/");
        let egress = Egress::builder()
            .trust_origin(&url)
            .build()
            .expect("an egress");
        let answer = egress.request(Method::Get, &url, &[], "").await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), 200);
        assert_eq!(server.connections(), 1, "{url}");
    }
}

#[tokio::test]
async fn hostile_urls_are_refused_before_anything_is_looked_up() {
    let servers = listening().await;
    let port = servers[0].address().port().to_string();
    let names = Names::new(|_, _| Ok(vec!["127.0.0.1".parse().unwrap()]));
    let egress = loose(&names).build().unwrap();
    let strict = Egress::builder().resolver(names.clone()).build().unwrap();
    let mut wrong = Vec::new();
    for (url, reason) in URLS {
        let url = url.replace("PORT", &port);
        for error in both_ways(&egress, &url).await {
            if !error.is_refused() || !error.to_string().contains(reason) {
                wrong.push(format!("{url:?} ({reason}): {error:?}"));
            }
        }
        for error in both_ways(&strict, &url).await {
            assert!(error.is_refused(), "{url}: {error:?}");
        }
        // The check without a look-up sees as much.
        let error = strict.check_url(&url).unwrap_err();
        assert!(error.is_refused(), "{url}: {error:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(names.asked(), [""; 0]);
    nobody_came_before(&servers).await;
    assert!(URLS.len() + ANSWERS.len() >= 130);
}

#[tokio::test]
async fn hostile_answers_are_refused_as_a_whole() {
    let servers = listening().await;
    let port = servers[0].address().port();
    for (answer, reason) in ANSWERS {
        let ips: Vec<IpAddr> = answer.iter().map(|ip| ip.parse().unwrap()).collect();
        let names = Names::new(move |_, _| Ok(ips.clone()));
        let egress = loose(&names).build().unwrap();
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://hook.example.com:{port}/");
            for error in both_ways(&egress, &url).await {
                assert!(error.is_refused(), "{answer:?}: {error:?}");
                assert!(error.to_string().contains(reason), "{answer:?}: {error}");
                // What a name leads to here is nothing for the stranger who asked.
                assert!(!error.public().contains(reason), "{}", error.public());
            }
        }
        assert_eq!(names.asked(), ["hook.example.com"; 4]);
    }
    nobody_came_before(&servers).await;
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_after_the_check_is_refused_when_it_is_used() {
    let servers = listening().await;
    let url = format!("http://hook.example.com:{}/", servers[0].address().port());
    for rebound in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
        let rebound: IpAddr = rebound.parse().unwrap();
        let names = Names::new(move |number, _| {
            Ok(vec![match number {
                0 => "8.8.8.8".parse().unwrap(),
                _ => rebound,
            }])
        });
        let egress = loose(&names).build().unwrap();
        egress.check(&url).await.unwrap();
        let error = egress.request(Method::Post, &url, &[], "{}").await;
        assert!(error.unwrap_err().is_refused());
        // Once for the check and once to dial: nothing is looked up between its check and its use.
        assert_eq!(names.asked().len(), 2);
    }
    nobody_came_before(&servers).await;
}

#[tokio::test]
async fn what_is_allowed_by_name_allows_nothing_else() {
    let names = Names::new(|_, _| Ok(vec!["169.254.169.254".parse().unwrap()]));
    let everything = loose(&names)
        .allow_loopback()
        .allow_private_networks()
        .build()
        .unwrap();
    let closed = [
        "http://169.254.169.254/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://metadata.google.internal/",
        "http://metadata/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::10.0.0.1]/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://hook.example.com/",
        "http://hook.internal/",
        "http://10.0.0.1:6379/",
        "http://user@10.0.0.1/",
    ];
    for url in closed {
        for error in both_ways(&everything, url).await {
            assert!(error.is_refused(), "{url}: {error:?}");
        }
    }
    for url in [
        "http://10.0.0.1/",
        "http://[fd12::1]/",
        "http://127.0.0.1/",
        "http://[::1]/",
    ] {
        everything.check(url).await.unwrap();
    }
    let private = loose(&names).allow_private_networks().build().unwrap();
    for url in ["http://127.0.0.1/", "http://localhost/", "http://[::1]/"] {
        assert!(private.check(url).await.unwrap_err().is_refused(), "{url}");
    }
    let loopback = loose(&names).allow_loopback().build().unwrap();
    for url in ["http://10.0.0.1/", "http://intranet/", "http://[fd12::1]/"] {
        assert!(loopback.check(url).await.unwrap_err().is_refused(), "{url}");
    }
}

#[tokio::test]
async fn a_named_origin_is_trusted_and_its_neighbours_are_not() {
    let names = Names::new(|_, _| Ok(vec!["10.0.0.1".parse().unwrap()]));
    let egress = Egress::builder()
        .resolver(names.clone())
        .trust_origin("http://collector.internal:9000/ignored?path")
        .trust_origin("http://10.0.0.1")
        .build()
        .unwrap();
    for url in [
        "http://collector.internal:9000/x",
        "http://COLLECTOR.internal:9000",
        "http://10.0.0.1:80/",
        "http://0x0a.1/",
    ] {
        egress.check(url).await.unwrap();
    }
    for url in [
        "https://collector.internal:9000/x",
        "http://collector.internal:9001/x",
        "http://collector.internal.:9000/x",
        "http://x.collector.internal:9000/x",
        "http://collector.internal/x",
        "https://10.0.0.1/",
        "http://10.0.0.1:81/",
        "http://user@collector.internal:9000/x",
    ] {
        assert!(egress.check(url).await.unwrap_err().is_refused(), "{url}");
    }
    assert_eq!(names.asked(), [""; 0]);
}
