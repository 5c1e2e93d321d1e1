//! What is stored as rows: JSON, and beside it the parts that are stored once for all.
//!
//! A record is JSON text in which each shared part is replaced by an empty text part, and a list
//! that says at which places: four bytes of the part's number in the order of
//! [`Parts`](super::parts::Parts), then 32 bytes of its hash. The list alone decides, so no part
//! that a client sends can be taken for a replacement.

use bytestring::ByteString;
use llamon_core::a2a::{Message, StreamEvent, Task, TaskView};
use llamon_core::json::Reader;
use llamon_core::{Limits, Part};
use ring::digest;

use super::fault::Fault;
use super::parts::Parts;

/// Bytes of a part's JSON text from which on it is stored once and shared between tasks.
pub const MIN_SHARED_PART_BYTES: usize = 8 * 1024;

/// What was accepted once is read whatever its size; the scanner goes no deeper than that.
const READ_DEPTH: u32 = 127;

/// SHA-256 of a part's JSON text.
pub(super) type Hash = [u8; 32];

/// A part that is stored once.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) part: Part,
    pub(super) hash: Hash,
}

/// Parts whose hashes are known, so that none is hashed twice.
#[derive(Clone, Default)]
pub(super) struct Known(Vec<Shared>);

impl Known {
    pub(super) fn extend(&mut self, parts: impl IntoIterator<Item = Shared>) {
        for shared in parts {
            if self.find(&shared.part).is_none() {
                self.0.push(shared);
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|shared| shared.part.json().len()).sum()
    }

    /// Two parts in the same memory are the same part. The list keeps its parts' memory, so no
    /// other part can come to lie there.
    fn find(&self, part: &Part) -> Option<Hash> {
        let same = |shared: &&Shared| std::ptr::eq(shared.part.json(), part.json());
        self.0.iter().find(same).map(|shared| shared.hash)
    }

    pub(super) fn part(&self, hash: &Hash) -> Option<Part> {
        let same = |shared: &&Shared| shared.hash == *hash;
        self.0.iter().find(same).map(|shared| shared.part.clone())
    }

    fn hash(&self, part: &Part) -> Hash {
        self.find(part).unwrap_or_else(|| hash(part.json()))
    }
}

pub(super) fn hash(text: &str) -> Hash {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    let mut hash = Hash::default();
    hash.copy_from_slice(digest.as_ref());
    hash
}

/// What goes into a row.
#[derive(Default)]
pub(super) struct Record {
    pub(super) json: String,
    pub(super) refs: Vec<u8>,
    /// The parts that `refs` names; they must be stored beside the row.
    pub(super) shared: Vec<Shared>,
}

impl Record {
    /// Bytes that the row takes.
    pub(super) fn len(&self) -> usize {
        self.json.len() + self.refs.len()
    }

    pub(super) fn of_task(task: &Task, known: &Known) -> Self {
        let mut encoder = Encoder::new(known);
        encoder.push(task, |task, out| task.write(out, TaskView::FULL));
        encoder.record
    }

    pub(super) fn of_message(message: &Message, known: &Known) -> Self {
        let mut encoder = Encoder::new(known);
        encoder.push(message, Message::write);
        encoder.record
    }

    /// A message that joined the history, if there was one, and events.
    pub(super) fn of_commit<'a>(
        said: Option<&Message>,
        events: impl IntoIterator<Item = &'a StreamEvent>,
        known: &Known,
    ) -> Self {
        let mut encoder = Encoder::new(known);
        encoder.record.json.push('[');
        if let Some(message) = said {
            encoder.push(message, Message::write);
        }
        for event in events {
            if !encoder.record.json.ends_with('[') {
                encoder.record.json.push(',');
            }
            encoder.push(event, |event, out| event.write(out, TaskView::FULL));
        }
        encoder.record.json.push(']');
        encoder.record
    }
}

struct Encoder<'k> {
    known: &'k Known,
    record: Record,
    parts: u32,
}

impl<'k> Encoder<'k> {
    fn new(known: &'k Known) -> Self {
        Self {
            known,
            record: Record::default(),
            parts: 0,
        }
    }

    fn push<T: Parts + Clone>(&mut self, item: &T, write: impl Fn(&T, &mut String)) {
        let first = self.parts;
        let mut large = false;
        item.each_part(&mut |part| {
            self.parts += 1;
            large |= is_shared(part);
        });
        if !large {
            write(item, &mut self.record.json);
            return;
        }
        let mut item = item.clone();
        let mut at = first;
        item.replace_parts(&mut |part| {
            at += 1;
            is_shared(part).then(|| {
                let hash = self.known.hash(part);
                self.record.refs.extend((at - 1).to_le_bytes());
                self.record.refs.extend(hash);
                let part = part.clone();
                self.record.shared.push(Shared { part, hash });
                Part::text("")
            })
        });
        write(&item, &mut self.record.json);
    }
}

pub(super) fn is_shared(part: &Part) -> bool {
    part.json().len() >= MIN_SHARED_PART_BYTES
}

/// The shared parts of something that is to be stored, hashed.
pub(super) fn shared_parts<'a, T: Parts + 'a>(
    items: impl IntoIterator<Item = &'a T>,
) -> Vec<Shared> {
    let mut shared = Vec::new();
    for item in items {
        item.each_part(&mut |part| {
            if is_shared(part) {
                let hash = hash(part.json());
                shared.push(Shared {
                    part: part.clone(),
                    hash,
                });
            }
        });
    }
    shared
}

/// The hashes that a row's list names.
pub(super) fn hashes(refs: &[u8]) -> impl Iterator<Item = Hash> {
    refs_of(refs).map(|(_, hash)| hash)
}

fn refs_of(refs: &[u8]) -> impl Iterator<Item = (u32, Hash)> {
    let (entries, _) = refs.as_chunks::<36>();
    entries.iter().map(|entry| {
        let (mut place, mut hash) = ([0; 4], Hash::default());
        place.copy_from_slice(&entry[..4]);
        hash.copy_from_slice(&entry[4..]);
        (u32::from_le_bytes(place), hash)
    })
}

// === reading ===

/// Finds the shared part of a hash.
pub(super) type Find<'f> = &'f mut dyn FnMut(&Hash) -> Result<Part, Fault>;

pub(super) fn read_task(json: String, refs: &[u8], find: Find<'_>) -> Result<Task, Fault> {
    let source = ByteString::from(json);
    let mut reader = Reader::of_str(&source, READ_DEPTH);
    let mut task = Task::read(&mut reader, &source, &unlimited()).map_err(Fault::record)?;
    put_back(&mut [&mut task], refs, find)?;
    Ok(task)
}

/// A task with its newest messages and, if asked for, its artifacts; shared parts of all others
/// are not looked up.
pub(super) fn read_task_in_part(
    json: String,
    refs: &[u8],
    history: usize,
    artifacts: bool,
    find: Find<'_>,
) -> Result<Task, Fault> {
    let mut task = read_task(json, &[], &mut |_| Err(Fault::record("no part is shared")))?;
    let mut places = 0;
    let mut count = |parts: usize| {
        places += parts as u32;
        places
    };
    let status = count(
        task.status
            .message
            .iter()
            .map(|said| said.parts.len())
            .sum(),
    );
    let skipped = task.history.len().saturating_sub(history);
    let old = count(
        task.history
            .drain(..skipped)
            .map(|said| said.parts.len())
            .sum(),
    );
    let new = count(task.history.iter().map(|said| said.parts.len()).sum());
    if !artifacts {
        task.artifacts.clear();
    }
    // The places move up by those that are left out.
    let mut wanted = Vec::new();
    for (place, hash) in refs_of(refs) {
        let place = match place {
            place if place < status => place,
            place if place < old => continue,
            place if place >= new && !artifacts => continue,
            place => place - (old - status),
        };
        wanted.extend(place.to_le_bytes());
        wanted.extend(hash);
    }
    put_back(&mut [&mut task], &wanted, find)?;
    Ok(task)
}

pub(super) fn read_message(json: String, refs: &[u8], find: Find<'_>) -> Result<Message, Fault> {
    let source = ByteString::from(json);
    let mut reader = Reader::of_str(&source, READ_DEPTH);
    let mut message = Message::read(&mut reader, &source, &unlimited()).map_err(Fault::record)?;
    put_back(&mut [&mut message], refs, find)?;
    Ok(message)
}

/// What [`Record::of_commit`] was made of.
pub(super) fn read_commit(
    json: String,
    refs: &[u8],
    has_message: bool,
    find: Find<'_>,
) -> Result<(Option<Message>, Vec<StreamEvent>), Fault> {
    let source = ByteString::from(json);
    let limits = unlimited();
    let mut reader = Reader::of_str(&source, READ_DEPTH);
    let mut message = None;
    let mut events = Vec::new();
    let mut array = reader.array().map_err(Fault::record)?;
    while reader.element(&mut array).map_err(Fault::record)? {
        if has_message && message.is_none() {
            let read = Message::read(&mut reader, &source, &limits);
            message = Some(read.map_err(Fault::record)?);
        } else {
            let read = StreamEvent::read(&mut reader, &source, &limits);
            events.push(read.map_err(Fault::record)?);
        }
    }
    let mut items: Vec<&mut dyn Parts> = Vec::new();
    items.extend(message.as_mut().map(|message| message as &mut dyn Parts));
    items.extend(events.iter_mut().map(|event| event as &mut dyn Parts));
    put_back(&mut items, refs, find)?;
    Ok((message, events))
}

/// Reads a shared part.
pub(super) fn read_part(json: String) -> Result<Part, Fault> {
    let source = ByteString::from(json);
    let mut reader = Reader::of_str(&source, READ_DEPTH);
    Part::read(&mut reader, &source).map_err(Fault::record)
}

fn put_back<P: Parts + ?Sized>(
    items: &mut [&mut P],
    refs: &[u8],
    find: Find<'_>,
) -> Result<(), Fault> {
    if refs.is_empty() {
        return Ok(());
    }
    let mut refs = refs_of(refs).peekable();
    let mut at = 0;
    let mut fault = None;
    for item in items {
        item.replace_parts(&mut |_| {
            at += 1;
            let (_, hash) = refs.next_if(|(place, _)| *place == at - 1)?;
            find(&hash).map_err(|error| fault = Some(error)).ok()
        });
    }
    match fault {
        Some(fault) => Err(fault),
        None if refs.peek().is_some() => Err(Fault::record("a shared part has no place")),
        None => Ok(()),
    }
}

fn unlimited() -> Limits {
    Limits::default()
        .with_max_message_parts(usize::MAX)
        .with_max_part_bytes(usize::MAX)
}
