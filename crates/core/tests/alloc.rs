//! Composition with nothing upstream allocates nothing. A file of its own: allocations are
//! counted per thread, by a global allocator.

use llamon_core::{Part, Payload, Upstream, UpstreamPartsPolicy, compose};

#[test]
fn composition_with_empty_upstream_allocates_nothing() {
    for policy in [UpstreamPartsPolicy::Replace, UpstreamPartsPolicy::Append] {
        let current = Payload::new()
            .with_text("done")
            .with_part(Part::data(&[1, 2, 3]).unwrap());
        let upstream = Upstream::empty();
        let mut response = None;
        let counted = allocation_counter::measure(|| {
            response = Some(compose(current, &upstream, policy));
        });
        assert_eq!(counted.count_total, 0, "{policy}");
        assert_eq!(response.unwrap().parts().len(), 2);
    }
}

#[test]
fn the_upstream_of_a_message_of_text_allocates_nothing() {
    let parts = [Part::text("a"), Part::text("b")];
    let counted = allocation_counter::measure(|| {
        assert!(Upstream::of(&parts).is_empty());
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn the_counter_counts() {
    let upstream = Upstream::of(&[Part::text("query"), Part::data("x").unwrap()]);
    let counted = allocation_counter::measure(|| {
        let response = compose(Payload::new(), &upstream, UpstreamPartsPolicy::Append);
        assert_eq!(response.parts().len(), 1);
    });
    assert!(counted.count_total > 0);
}
