//! A field as an input: what its type and its attributes say together.

use proc_macro2::{Ident, Span};
use serde_json::Value;
use syn::ext::IdentExt as _;
use syn::{Error, LitStr, Path, Result, Type};

use crate::attributes::{Attributes, SchemaAttribute, doc_comment};
use crate::shape::{Count, Item, Shape};

/// What kind of part an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    File,
    Text,
}

/// Where an input's schema comes from.
pub(crate) enum Schema {
    /// From the field's type.
    Type,
    /// From a function.
    Function(Path),
    /// There is none.
    None,
}

/// Which of several matches an input is, by the name of the variant.
pub(crate) type Variant = &'static str;

/// A field that is an input.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) kind: Kind,
    pub(crate) count: Count,
    pub(crate) item_type: Type,
    pub(crate) schema: Schema,
    pub(crate) description: Option<String>,
    pub(crate) select: Option<LitStr>,
    pub(crate) media_type: Option<LitStr>,
    pub(crate) filename: Option<LitStr>,
    pub(crate) source: Option<LitStr>,
    pub(crate) default: Option<LitStr>,
    /// The variant of `Pick`, where it is not the default.
    pub(crate) pick: Option<Variant>,
    /// The variant of `OnMissing`, where it is not the default.
    pub(crate) on_missing: Option<Variant>,
    pub(crate) is_optional: bool,
}

impl Field {
    /// # Errors
    /// For the field's first mistake: with its name, and how to mend it.
    pub(crate) fn new(field: &syn::Field) -> Result<Self> {
        // A tuple struct was refused before.
        let Some(ident) = &field.ident else {
            return Err(Error::new_spanned(field, "the field has no name"));
        };
        let attributes = Attributes::new(ident, &field.attrs)?;
        let shape =
            Shape::new(&field.ty).map_err(|message| attributes.error(&field.ty, message))?;
        let kind = kind(&attributes, &shape)?;
        check_select(&attributes, kind)?;
        check_default(&attributes, &shape, kind)?;
        check_optional(&attributes, shape.count)?;
        let pick = pick(&attributes, shape.count)?;
        let on_missing = on_missing(&attributes, shape.count)?;
        let schema = schema(&attributes, kind)?;
        let (name, name_span) = name(&attributes, ident)?;
        let description = match &attributes.description {
            Some(description) => Some(description.value()),
            None => doc_comment(&field.attrs),
        };
        Ok(Self {
            ident: ident.clone(),
            name,
            name_span,
            kind,
            count: shape.count,
            item_type: shape.item_type,
            schema,
            description,
            is_optional: shape.count == Count::Optional || attributes.optional.is_some(),
            select: attributes.select,
            media_type: attributes.media_type,
            filename: attributes.filename,
            source: attributes.source,
            default: attributes.default,
            pick,
            on_missing,
        })
    }
}

fn name(attributes: &Attributes, ident: &Ident) -> Result<(String, Span)> {
    let Some(name) = &attributes.name else {
        return Ok((ident.unraw().to_string(), ident.span()));
    };
    if name.value().trim().is_empty() {
        let message = "the input's name is empty; write one, or leave `name` out for the field's";
        return Err(attributes.error(name, message));
    }
    Ok((name.value(), name.span()))
}

fn kind(attributes: &Attributes, shape: &Shape) -> Result<Kind> {
    let of_type = match shape.item {
        Item::File => Kind::File,
        Item::String => Kind::Text,
        Item::Other => Kind::Data,
    };
    let Some(given) = &attributes.kind else {
        return Ok(of_type);
    };
    let (kind, mismatch) = match given.value().as_str() {
        "data" => (
            Kind::Data,
            "data is no `FilePart`; leave `kind` out for a file",
        ),
        "file" => (Kind::File, "a file is a `FilePart`; make the field one"),
        "text" => (Kind::Text, "a text is a `String`; make the field one"),
        other => {
            let message =
                format!("the kind {other:?} does not exist; it is \"data\", \"file\" or \"text\"");
            return Err(attributes.error(given, message));
        }
    };
    if kind == of_type || (kind, of_type) == (Kind::Data, Kind::Text) {
        return Ok(kind);
    }
    Err(attributes.error(given, mismatch))
}

fn check_select(attributes: &Attributes, kind: Kind) -> Result<()> {
    let Some(select) = &attributes.select else {
        return Ok(());
    };
    let message = match kind {
        Kind::File => "`select` finds places in data, and a file has none; leave it out".to_owned(),
        Kind::Text => "`select` finds places in data, and a `String` is a text part; add \
                       `kind = \"data\"`, or leave `select` out"
            .to_owned(),
        Kind::Data => {
            let text = select.value();
            if text.is_empty() || text.starts_with(['$', '/']) {
                return Ok(());
            }
            format!(
                "`select` is {text:?}, which begins neither with `$` (JSONPath, `$.total`) nor \
                 with `/` (JSON Pointer, `/total`)"
            )
        }
    };
    Err(attributes.error(select, message))
}

fn schema(attributes: &Attributes, kind: Kind) -> Result<Schema> {
    match (&attributes.schema, kind) {
        (Some(schema), Kind::File) => {
            let message = "a file has no schema; match it by `media_type` and `filename`";
            Err(attributes.error(schema, message))
        }
        (Some(SchemaAttribute::Function(function)), _) => Ok(Schema::Function(function.clone())),
        (Some(SchemaAttribute::None(_)), _) => Ok(Schema::None),
        (None, Kind::Data) => Ok(Schema::Type),
        (None, _) => Ok(Schema::None),
    }
}

fn pick(attributes: &Attributes, count: Count) -> Result<Option<Variant>> {
    let Some(pick) = &attributes.pick else {
        return Ok((count == Count::Many).then_some("All"));
    };
    let message = match (pick.value().as_str(), count) {
        (_, Count::Many) => "a `Vec` takes all that match; leave `pick` out, or make the field a \
                             single value"
            .to_owned(),
        ("first", _) => return Ok(None),
        ("last", _) => return Ok(Some("Last")),
        ("one", _) => return Ok(Some("One")),
        ("all", _) => {
            "a single value is not all that match; make the field a `Vec` and leave `pick` out"
                .to_owned()
        }
        (other, _) => format!(
            "`pick` is {other:?}; it is \"first\", \"last\" or \"one\" (for all, make the field \
             a `Vec`)"
        ),
    };
    Err(attributes.error(pick, message))
}

fn check_default(attributes: &Attributes, shape: &Shape, kind: Kind) -> Result<()> {
    let Some(default) = &attributes.default else {
        return Ok(());
    };
    let error = |message: &str| Err(attributes.error(default, message));
    if kind == Kind::File {
        return error("a file has no default; make the field an `Option<FilePart>`");
    }
    if shape.count == Count::Optional {
        return error(
            "an `Option` with a default is never `None`; remove the `Option`, or leave `default` \
             out",
        );
    }
    let value: Value = match serde_json::from_str(&default.value()) {
        Ok(value) => value,
        Err(cause) => {
            return error(&format!(
                "the default is no JSON text: {cause}; a string has quotes of its own: \
                 `default = r#\"\"...\"\"#`"
            ));
        }
    };
    if shape.count == Count::Many && !value.is_array() {
        return error("the default of a `Vec` is an array: `default = \"[...]\"`");
    }
    let mut texts = match &value {
        Value::Array(items) if shape.count == Count::Many => items.as_slice(),
        value => std::slice::from_ref(value),
    }
    .iter();
    if kind == Kind::Text && !texts.all(Value::is_string) {
        return error(
            "the default of a text is a string with quotes of its own: \
             `default = r#\"\"...\"\"#`",
        );
    }
    Ok(())
}

fn check_optional(attributes: &Attributes, count: Count) -> Result<()> {
    let Some(optional) = &attributes.optional else {
        return Ok(());
    };
    let message = match (count, &attributes.default) {
        (_, Some(_)) => "an input with a default is optional; leave `optional` out",
        (Count::One, None) => {
            "where the input is missing the field has no value; make it an `Option`, or write \
             `default = \"...\"` instead of `optional`"
        }
        (Count::Optional | Count::Many, None) => return Ok(()),
    };
    Err(attributes.error(optional, message))
}

fn on_missing(attributes: &Attributes, count: Count) -> Result<Option<Variant>> {
    let Some(on_missing) = &attributes.on_missing else {
        return Ok(None);
    };
    let variant = match on_missing.value().as_str() {
        "reject" => None,
        "ask" => Some("Ask"),
        other => {
            let message = format!("`on_missing` is {other:?}; it is \"reject\" or \"ask\"");
            return Err(attributes.error(on_missing, message));
        }
    };
    let message = match count {
        _ if attributes.default.is_some() => {
            "with a default nothing is ever missing; leave `on_missing` or `default` out"
        }
        _ if attributes.optional.is_some() => {
            "nothing that is optional is ever missing; leave `on_missing` or `optional` out"
        }
        Count::Optional => {
            "nothing that is optional is ever missing; leave `on_missing` out, or remove the \
             `Option`"
        }
        Count::One | Count::Many => return Ok(variant),
    };
    Err(attributes.error(on_missing, message))
}
