//! Messages in the body of a call: each with five bytes before it.

use std::marker::PhantomData;

use bytes::{BufMut as _, Bytes, BytesMut};
use llamon_core::a2a::{A2aError, ErrorCode};
use prost::Message;
use tonic::Status;
use tonic::codec::DecodeBuf;

use crate::status;

const HEADER_BYTES: usize = 5;

/// A message as it stands in a body, uncompressed. It has at most 4 GiB.
pub fn frame(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    push_frame(&mut out, message);
    out.freeze()
}

/// Appends a message as [`frame`] makes it.
pub fn push_frame(out: &mut BytesMut, message: &impl Message) {
    let length = message.encoded_len();
    out.reserve(HEADER_BYTES + length);
    out.put_u8(0);
    out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    // The room is there, and nothing else can fail.
    let _ = message.encode(out);
}

/// Reads messages of type `M`, for tonic's `Streaming`.
///
/// What cannot be read is an error of the protocol (`INVALID_ARGUMENT` with its details).
#[derive(Debug)]
pub struct Decoder<M>(PhantomData<fn() -> M>);

impl<M> Default for Decoder<M> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<M: Message + Default> tonic::codec::Decoder for Decoder<M> {
    type Item = M;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<M>, Status> {
        M::decode(buffer).map(Some).map_err(|error| {
            let message = format!("the message is not A2A protobuf (lf.a2a.v1): {error}");
            status::of_error(&A2aError::new(ErrorCode::InvalidParams, message))
        })
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::frame;
    use crate::wire::GetTaskRequest;

    #[test]
    fn a_frame_is_a_flag_a_length_and_the_message() {
        let request = GetTaskRequest {
            id: "t".repeat(300),
            ..GetTaskRequest::default()
        };
        let body = frame(&request);
        assert_eq!(&body[..5], [0, 0, 0, 1, 47]);
        assert_eq!(GetTaskRequest::decode(&body[5..]), Ok(request));
        assert_eq!(frame(&()), [0_u8; 5][..]);
    }
}
