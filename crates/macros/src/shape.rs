//! What a field's type says about its input.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// How many values a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    One,
    /// `Option<T>`.
    Optional,
    /// `Vec<T>`.
    Many,
}

/// What a field's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// `FilePart`.
    File,
    /// `String`.
    String,
    /// Any other type.
    Other,
}

/// A field's type, taken apart.
pub(crate) struct Shape {
    pub(crate) count: Count,
    pub(crate) item: Item,
    /// The type without its `Option` or `Vec`.
    pub(crate) item_type: Type,
}

impl Shape {
    /// # Errors
    /// With what is wrong with a type that no input can be.
    pub(crate) fn new(ty: &Type) -> Result<Self, &'static str> {
        let ty = bare(ty);
        if let Type::Reference(_) = ty {
            let message = "an input owns its value; remove the `&` (`String` instead of `&str`, \
                           `Vec<T>` instead of `&[T]`)";
            return Err(message);
        }
        let (count, item_type) = match (argument(ty, "Option"), argument(ty, "Vec")) {
            (Some(inner), _) => (Count::Optional, inner),
            (_, Some(inner)) => (Count::Many, inner),
            _ => (Count::One, ty),
        };
        if count == Count::Optional && argument(item_type, "Vec").is_some() {
            let message = "a `Vec` says by itself that there is nothing; instead of \
                           `Option<Vec<T>>` write `Vec<T>` with `#[input(optional)]`";
            return Err(message);
        }
        let item = item_of(item_type);
        if item == Item::Other && holds_file(item_type) {
            let message = "a file is `FilePart`, `Option<FilePart>` or `Vec<FilePart>`, with \
                           nothing else around it";
            return Err(message);
        }
        Ok(Self {
            count,
            item,
            item_type: item_type.clone(),
        })
    }
}

fn item_of(ty: &Type) -> Item {
    match last_segment(ty) {
        Some(segment) if segment.ident == "FilePart" && segment.arguments.is_none() => Item::File,
        Some(segment) if segment.ident == "String" && is_std(ty) => Item::String,
        _ => Item::Other,
    }
}

/// Whether there is a file within containers.
fn holds_file(ty: &Type) -> bool {
    ["Option", "Vec", "Box", "Arc", "Rc"]
        .iter()
        .filter_map(|container| argument(ty, container))
        .any(|inner| item_of(inner) == Item::File || holds_file(inner))
}

/// The `T` of a standard `container<T>`.
fn argument<'t>(ty: &'t Type, container: &str) -> Option<&'t Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == container && is_std(ty))?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    let mut arguments = arguments.args.iter();
    match (arguments.next(), arguments.next()) {
        (Some(GenericArgument::Type(inner)), None) => Some(bare(inner)),
        _ => None,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// Whether a path is written without a crate, or with one of the standard library.
fn is_std(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let segments = &path.path.segments;
    segments.len() == 1
        || segments.first().is_some_and(|first| {
            ["std", "core", "alloc"]
                .iter()
                .any(|name| first.ident == name)
        })
}

/// The type without parentheses and the invisible groups that `macro_rules` puts around it.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Paren(paren) => bare(&paren.elem),
        Type::Group(group) => bare(&group.elem),
        _ => ty,
    }
}
