use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use http_body_util::BodyExt as _;
use llamon_core::a2a::{A2aError, ErrorCode};

/// How much of a body that is too large is read and thrown away, in multiples of the limit, so
/// that a client that is still sending can read the answer.
const DRAIN_FACTOR: usize = 4;

/// Reads a request's body as text.
///
/// # Errors
/// PayloadTooLarge over `limit` bytes, Parse when it is not UTF-8.
pub(super) async fn read(body: Body, limit: usize) -> Result<ByteString, A2aError> {
    let bytes = read_bytes(body, limit).await?;
    ByteString::try_from(bytes).map_err(|error| {
        let at = error.valid_up_to();
        A2aError::new(
            ErrorCode::Parse,
            format!("the body is not UTF-8 (at byte {at})"),
        )
    })
}

async fn read_bytes(mut body: Body, limit: usize) -> Result<Bytes, A2aError> {
    let declared = http_body::Body::size_hint(&body).lower();
    let declared = usize::try_from(declared).unwrap_or(usize::MAX);
    let mut whole: Option<BytesMut> = None;
    let mut first: Option<Bytes> = None;
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            A2aError::new(
                ErrorCode::Parse,
                format!("the body did not arrive whole: {error}"),
            )
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length > limit || declared > limit {
            drain(body, limit.saturating_mul(DRAIN_FACTOR)).await;
            return Err(too_large(declared.max(length), limit));
        }
        match (&mut whole, first.take()) {
            (Some(whole), _) => whole.extend_from_slice(&data),
            // A body of one frame is not copied.
            (None, None) => first = Some(data),
            (None, Some(begin)) => {
                let mut bytes = BytesMut::with_capacity(declared.max(length));
                bytes.extend_from_slice(&begin);
                bytes.extend_from_slice(&data);
                whole = Some(bytes);
            }
        }
    }
    Ok(whole.map(BytesMut::freeze).or(first).unwrap_or_default())
}

async fn drain(mut body: Body, most: usize) {
    let mut drained = 0;
    while drained < most {
        match body.frame().await {
            Some(Ok(frame)) => drained += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) | None => return,
        }
    }
}

fn too_large(found: usize, limit: usize) -> A2aError {
    A2aError::new(
        ErrorCode::PayloadTooLarge,
        format!(
            "the body has at least {found} bytes, max_body_bytes allows {limit}; send files by url \
             or raise the limit"
        ),
    )
}

/// Checks that the body says it is JSON. A browser can send other types to another site without
/// asking; this one it cannot.
///
/// # Errors
/// ContentTypeNotSupported, with what came and what is accepted.
pub(super) fn check_media_type(headers: &HeaderMap) -> Result<(), A2aError> {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let essence = text.as_deref().unwrap_or_default();
    let essence = essence.split(';').next().unwrap_or_default().trim();
    let accepted = ["application/json", "application/a2a+json"];
    if accepted
        .iter()
        .any(|known| known.eq_ignore_ascii_case(essence))
    {
        return Ok(());
    }
    let shown: String = essence.chars().take(80).collect();
    Err(A2aError::new(
        ErrorCode::ContentTypeNotSupported,
        format!(
            "the Content-Type is {shown:?}; it must be application/json or application/a2a+json"
        ),
    ))
}
