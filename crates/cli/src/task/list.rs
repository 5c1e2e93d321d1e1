use comfy_table::{Table, TableStyle};
use llamon_agent::a2a::{ListTasksRequest, ListTasksResponse, TaskView};

use crate::args::ListArgs;
use crate::call::{connect, failed};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::text::{clean_line, count};

/// What a page may have at most (A2A section 3.1.4).
const MAX_PAGE: usize = 100;

/// Prints an agent's tasks, as many pages of them as the limit asks for.
pub(super) async fn run(args: &ListArgs) -> Result<Exit, CliError> {
    if args.limit == 0 {
        return Err(CliError::usage("--limit is 0").with_next("ask for 1 task or more"));
    }
    let client = connect(&args.agent).await?;
    let mut request = ListTasksRequest::default();
    request.context_id = args.context.as_deref().map(Into::into);
    request.status = args.status;
    let mut tasks = Vec::new();
    let mut total = 0;
    let mut page_size = 0;
    let mut next_page = String::new();
    while tasks.len() < args.limit {
        let wanted = (args.limit - tasks.len()).min(MAX_PAGE);
        request.page_size = u32::try_from(wanted).ok();
        request.page_token = Some(next_page).filter(|token| !token.is_empty());
        let page = client
            .list(request.clone())
            .await
            .map_err(|error| failed(&error, &args.agent))?;
        total = page.total_size;
        page_size = page.page_size;
        next_page = page.next_page_token;
        let got_none = page.tasks.is_empty();
        tasks.extend(page.tasks);
        // An agent that gives empty pages for ever would keep us here.
        if next_page.is_empty() || got_none {
            break;
        }
    }
    tasks.truncate(args.limit);
    let response = ListTasksResponse::new(tasks, next_page, page_size, total);
    print(&response, args.json)
}

fn print(response: &ListTasksResponse, json: bool) -> Result<Exit, CliError> {
    let mut out = Out::default();
    if json {
        let mut json = String::new();
        response.write(&mut json, TaskView::FULL);
        json.push('\n');
        out.raw(&json)?;
        return Ok(Exit::Completed);
    }
    if !response.tasks.is_empty() {
        out.line(&table(response).trim_fmt())?;
    }
    let shown = response.tasks.len();
    let total = response.total_size.max(shown);
    let tasks = count(total, "task", "tasks");
    if shown < total {
        out.note(&format!("{shown} of {tasks}; --limit shows more"));
    } else {
        out.note(&tasks);
    }
    Ok(Exit::Completed)
}

/// Columns with nothing between them but space, for eyes and for `awk`.
fn table(response: &ListTasksResponse) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(["TASK", "STATE", "SINCE", "CONTEXT"]);
    for task in &response.tasks {
        table.add_row([
            clean_line(&task.id),
            task.status.state.to_string(),
            task.status
                .timestamp
                .map_or_else(|| "-".to_owned(), |at| at.to_string()),
            clean_line(&task.context_id),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}
