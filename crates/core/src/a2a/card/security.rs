//! How a caller shows who it is (sections 4.5 and 7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A way to authenticate, declared under a name in
/// [`AgentCard::security_schemes`](super::AgentCard::security_schemes) (section 4.5.1).
///
/// ```
/// use llamon_core::a2a::SecurityScheme;
/// let scheme: SecurityScheme = serde_json::from_str(
///     r#"{"httpAuthSecurityScheme":{"scheme":"Bearer"}}"#,
/// )?;
/// assert_eq!(scheme, SecurityScheme::http("Bearer"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SecurityScheme {
    /// A key in a header, a query parameter or a cookie (section 4.5.2).
    #[serde(rename = "apiKeySecurityScheme", alias = "api_key_security_scheme")]
    ApiKey(ApiKeyScheme),
    /// The `Authorization` header (section 4.5.3).
    #[serde(rename = "httpAuthSecurityScheme", alias = "http_auth_security_scheme")]
    Http(HttpScheme),
    /// OAuth 2.0 (section 4.5.4).
    #[serde(rename = "oauth2SecurityScheme", alias = "oauth2_security_scheme")]
    OAuth2(OAuth2Scheme),
    /// OpenID Connect (section 4.5.5).
    #[serde(
        rename = "openIdConnectSecurityScheme",
        alias = "open_id_connect_security_scheme"
    )]
    OpenIdConnect(OpenIdConnectScheme),
    /// A client's certificate (section 4.5.6).
    #[serde(rename = "mtlsSecurityScheme", alias = "mtls_security_scheme")]
    MutualTls(MutualTlsScheme),
}

impl SecurityScheme {
    /// An HTTP authentication scheme such as `Bearer` or `Basic`.
    pub fn http(scheme: impl Into<String>) -> Self {
        Self::Http(HttpScheme {
            scheme: scheme.into(),
            description: String::new(),
            bearer_format: String::new(),
        })
    }

    /// A key in the place that `location` says, `header`, `query` or `cookie`, under a name.
    pub fn api_key(location: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ApiKey(ApiKeyScheme {
            description: String::new(),
            location: location.into(),
            name: name.into(),
        })
    }

    /// OAuth 2.0 with a flow.
    pub fn oauth2(flow: OAuthFlow) -> Self {
        Self::OAuth2(OAuth2Scheme {
            description: String::new(),
            flows: flow,
            oauth2_metadata_url: String::new(),
        })
    }

    /// OpenID Connect; `url` is that of the provider's metadata.
    pub fn open_id_connect(url: impl Into<String>) -> Self {
        Self::OpenIdConnect(OpenIdConnectScheme {
            description: String::new(),
            open_id_connect_url: url.into(),
        })
    }

    /// A client's certificate.
    pub fn mutual_tls() -> Self {
        Self::MutualTls(MutualTlsScheme::default())
    }

    /// The scheme with a description for people.
    #[must_use]
    pub fn with_description(mut self, text: impl Into<String>) -> Self {
        let description = match &mut self {
            Self::ApiKey(scheme) => &mut scheme.description,
            Self::Http(scheme) => &mut scheme.description,
            Self::OAuth2(scheme) => &mut scheme.description,
            Self::OpenIdConnect(scheme) => &mut scheme.description,
            Self::MutualTls(scheme) => &mut scheme.description,
        };
        *description = text.into();
        self
    }
}

/// A key in a header, a query parameter or a cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApiKeyScheme {
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// `query`, `header` or `cookie`.
    pub location: String,
    /// The name of the header, parameter or cookie.
    pub name: String,
}

/// An authentication scheme of HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HttpScheme {
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// As in the `Authorization` header, `Bearer` for example.
    pub scheme: String,
    /// What a bearer token looks like, `JWT` for example; for people.
    #[serde(
        default,
        alias = "bearer_format",
        skip_serializing_if = "String::is_empty"
    )]
    pub bearer_format: String,
}

/// OAuth 2.0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OAuth2Scheme {
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The flow that is supported: one, although the field has the name of several.
    pub flows: OAuthFlow,
    /// Where the authorization server's metadata is (RFC 8414).
    #[serde(
        default,
        alias = "oauth2_metadata_url",
        skip_serializing_if = "String::is_empty"
    )]
    pub oauth2_metadata_url: String,
}

/// OpenID Connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpenIdConnectScheme {
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where the provider's metadata is.
    #[serde(alias = "open_id_connect_url")]
    pub open_id_connect_url: String,
}

/// A client's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MutualTlsScheme {
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// How a token is got with OAuth 2.0 (section 4.5.7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OAuthFlow {
    /// By way of the user's browser.
    #[serde(alias = "authorization_code")]
    AuthorizationCode(OAuthEndpoints),
    /// With the client's own credentials.
    #[serde(alias = "client_credentials")]
    ClientCredentials(OAuthEndpoints),
    /// Deprecated by A2A, here so that such a card can be read.
    Implicit(OAuthEndpoints),
    /// Deprecated by A2A, here so that such a card can be read.
    Password(OAuthEndpoints),
    /// On a device without a browser (RFC 8628).
    #[serde(alias = "device_code")]
    DeviceCode(OAuthEndpoints),
}

/// Where a flow's endpoints are. Which of them a flow has is said at each; the others are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OAuthEndpoints {
    /// Of the flows with a browser: authorization code and implicit.
    #[serde(
        default,
        alias = "authorization_url",
        skip_serializing_if = "String::is_empty"
    )]
    pub authorization_url: String,
    /// Of the device code flow.
    #[serde(
        default,
        alias = "device_authorization_url",
        skip_serializing_if = "String::is_empty"
    )]
    pub device_authorization_url: String,
    /// Of all flows but the implicit one.
    #[serde(default, alias = "token_url", skip_serializing_if = "String::is_empty")]
    pub token_url: String,
    /// Where a token is renewed, if that is somewhere else.
    #[serde(
        default,
        alias = "refresh_url",
        skip_serializing_if = "String::is_empty"
    )]
    pub refresh_url: String,
    /// What each scope permits, for people.
    #[serde(default)]
    pub scopes: BTreeMap<String, String>,
    /// Of the authorization code flow: whether a client must use PKCE (RFC 7636).
    #[serde(
        default,
        alias = "pkce_required",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub pkce_required: bool,
}

/// What a caller must show: **all** of these schemes. Of several requirements in a list, one is
/// enough (section 4.5.1).
///
/// ```
/// use llamon_core::a2a::SecurityRequirement;
/// let needed = SecurityRequirement::new("oidc", ["profile", "email"]);
/// assert_eq!(
///     serde_json::to_string(&needed)?,
///     r#"{"schemes":{"oidc":{"list":["profile","email"]}}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SecurityRequirement {
    /// The names of declared schemes, each with the scopes that it needs.
    #[serde(default)]
    pub schemes: BTreeMap<String, Scopes>,
}

impl SecurityRequirement {
    /// A scheme by its name on the card, and the scopes that it needs.
    pub fn new(
        scheme: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self::default().and(scheme, scopes)
    }

    /// The same with a scheme more that is needed, too.
    #[must_use]
    pub fn and(
        mut self,
        scheme: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let list = scopes.into_iter().map(Into::into).collect();
        self.schemes.insert(scheme.into(), Scopes { list });
        self
    }
}

/// The scopes that a scheme needs; none for schemes without scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Scopes {
    /// Their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::{OAuthEndpoints, OAuthFlow, SecurityRequirement, SecurityScheme};

    #[test]
    fn each_kind_of_scheme_keeps_its_form() {
        let cases = [
            r#"{"apiKeySecurityScheme":{"location":"header","name":"X-Key"}}"#,
            r#"{"httpAuthSecurityScheme":{"description":"d","scheme":"Bearer","bearerFormat":"JWT"}}"#,
            r#"{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"https://t","scopes":{"a":"b"}}},"oauth2MetadataUrl":"https://m"}}"#,
            r#"{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"authorizationUrl":"https://a","tokenUrl":"https://t","refreshUrl":"https://r","scopes":{},"pkceRequired":true}}}}"#,
            r#"{"oauth2SecurityScheme":{"flows":{"deviceCode":{"deviceAuthorizationUrl":"https://d","tokenUrl":"https://t","scopes":{}}}}}"#,
            r#"{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://o"}}"#,
            r#"{"mtlsSecurityScheme":{}}"#,
        ];
        for json in cases {
            let scheme: SecurityScheme = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&scheme).unwrap(), json);
        }
    }

    #[test]
    fn field_names_of_the_protobuf_file_are_read_too() {
        let scheme: SecurityScheme = serde_json::from_str(
            r#"{"oauth2_security_scheme":{"flows":{"client_credentials":{"token_url":"https://t"}}}}"#,
        )
        .unwrap();
        let flow = OAuthFlow::ClientCredentials(OAuthEndpoints {
            token_url: "https://t".into(),
            ..OAuthEndpoints::default()
        });
        assert_eq!(scheme, SecurityScheme::oauth2(flow));
    }

    #[test]
    fn a_scheme_without_scopes_is_still_required() {
        let needed = SecurityRequirement::new("bearer", [] as [&str; 0]).and("mtls", ["x"]);
        let json = r#"{"schemes":{"bearer":{},"mtls":{"list":["x"]}}}"#;
        assert_eq!(serde_json::to_string(&needed).unwrap(), json);
        let read: SecurityRequirement = serde_json::from_str(json).unwrap();
        assert_eq!(read, needed);
    }
}
