use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The plan cannot run, or cannot end well.
    Error,
    /// The plan runs, and may do what nobody wanted.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A place in a plan's document, in characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Something that is wrong with a plan, or may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    severity: Severity,
    kind: &'static str,
    step: Option<String>,
    place: Option<Place>,
    message: String,
}

impl Finding {
    pub(crate) fn error(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, kind, message)
    }

    pub(crate) fn warning(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, kind, message)
    }

    fn new(severity: Severity, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity,
            kind,
            step: None,
            place: None,
            message: message.into(),
        }
    }

    #[must_use]
    pub(crate) fn of_step(mut self, step: impl Into<String>) -> Self {
        self.step = Some(step.into());
        self
    }

    #[must_use]
    pub(crate) fn at(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// A name for this kind of finding that programs can rely on, such as `unknown-step`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The step that it is about, if it is about one.
    pub fn step(&self) -> Option<&str> {
        self.step.as_deref()
    }

    /// Where in the document it is; `None` for a plan that was built in Rust.
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// What is wrong and what would be right, without place and step.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// `4:11: error: step "audit": ...`; without what is not known.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}: ", self.severity.as_str())?;
        if let Some(step) = &self.step {
            write!(f, "step {step:?}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// A plan that cannot be one, with all that is wrong in it as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    findings: Vec<Finding>,
}

impl PlanError {
    pub(crate) fn new(mut findings: Vec<Finding>) -> Self {
        sort(&mut findings);
        Self { findings }
    }

    /// What is wrong, in the order of the document; at least one error.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// In the order of the document, where there is one; as they were found otherwise.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(Finding::place);
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.findings.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}
