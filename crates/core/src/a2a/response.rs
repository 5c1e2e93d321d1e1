use std::sync::Arc;

use bytestring::ByteString;

use super::task::read_list;
use super::{Message, Task, TaskView, push_field, push_string_field};
use crate::Limits;
use crate::json::{ReadError, Reader, Seen, push_number};

/// What SendMessage answers with (section 3.1.1): exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendResult {
    /// The task.
    Task(Arc<Task>),
    /// A direct answer without a task.
    Message(Arc<Message>),
}

/// What ListTasks answers with (section 3.1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListTasksResponse {
    /// The page, newest status first.
    pub tasks: Vec<Arc<Task>>,
    /// Where the next page begins; empty at the end.
    pub next_page_token: String,
    /// Tasks that a page has at most.
    pub page_size: u32,
    /// Tasks that match, on all pages.
    pub total_size: usize,
}

impl ListTasksResponse {
    /// A page.
    pub fn new(
        tasks: Vec<Arc<Task>>,
        next_page_token: String,
        page_size: u32,
        total_size: usize,
    ) -> Self {
        Self {
            tasks,
            next_page_token,
            page_size,
            total_size,
        }
    }

    /// Reads the response at the cursor.
    ///
    /// # Errors
    /// When a field is wrong; naming it.
    pub fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut response = Self::new(Vec::new(), String::new(), 0, 0);
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "tasks" => {
                    seen.mark(0, "tasks")?;
                    response.tasks =
                        read_list(reader, |r| Task::read(r, source, limits).map(Arc::new))
                            .map_err(|e| e.within("tasks"))?;
                }
                "nextPageToken" | "next_page_token" => {
                    seen.mark(1, "nextPageToken")?;
                    let token = reader
                        .optional_string()
                        .map_err(|e| e.within("nextPageToken"))?;
                    response.next_page_token = token.unwrap_or_default().into_owned();
                }
                "pageSize" | "page_size" => {
                    seen.mark(2, "pageSize")?;
                    let size = reader.optional_u32().map_err(|e| e.within("pageSize"))?;
                    response.page_size = size.unwrap_or_default();
                }
                "totalSize" | "total_size" => {
                    seen.mark(3, "totalSize")?;
                    let size = reader.optional_u32().map_err(|e| e.within("totalSize"))?;
                    response.total_size = size.unwrap_or_default() as usize;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(response)
    }

    /// Appends the response's JSON; `view` says what of each task is in it.
    pub fn write(&self, out: &mut String, view: TaskView) {
        out.push('{');
        push_field(out, "tasks");
        out.push('[');
        for (index, task) in self.tasks.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            task.write(out, view);
        }
        out.push(']');
        push_string_field(out, "nextPageToken", &self.next_page_token);
        push_field(out, "pageSize");
        push_number(out, self.page_size.into());
        push_field(out, "totalSize");
        push_number(out, self.total_size as u64);
        out.push('}');
    }
}
