//! The code that the derive writes.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Path};

use super::field::{Field, Merge};
use super::input::State;

/// The update type and the implementations, or the errors.
pub(crate) fn expand(input: &DeriveInput, default_krate: &Path) -> TokenStream {
    match State::new(input, default_krate) {
        Ok(state) => {
            let update = update_type(&state);
            let builders = builders(&state);
            let implementations = implementations(&state);
            quote!(#update #builders #implementations)
        }
        Err(error) => {
            let errors = error.into_compile_error();
            let stand_in = stand_in(input, default_krate);
            quote!(#errors #stand_in)
        }
    }
}

fn update_ident(ident: &Ident) -> Ident {
    format_ident!("{ident}Update")
}

fn update_type(state: &State) -> TokenStream {
    let State {
        ident,
        vis,
        krate,
        fields,
    } = state;
    let update = update_ident(ident);
    // serde reads paths from strings.
    let serde = quote!(#krate::__private::serde).to_string();
    let present = quote!(#krate::__private::present).to_string();
    let doc = format!("Writes to some of the fields of [`{ident}`]: what its nodes return.");
    let fields = fields.iter().map(|field| {
        let Field { ident, ty, .. } = field;
        let written = match field.has_reducer() {
            true => quote!(#krate::Write<#ty>),
            false => quote!(#ty),
        };
        quote! {
            #[serde(
                default,
                skip_serializing_if = "::core::option::Option::is_none",
                deserialize_with = #present
            )]
            #ident: ::core::option::Option<#written>
        }
    });
    quote! {
        #[doc = #doc]
        #[derive(
            ::core::clone::Clone,
            ::core::default::Default,
            #krate::__private::serde::Serialize,
            #krate::__private::serde::Deserialize,
        )]
        #[serde(crate = #serde, deny_unknown_fields)]
        #[must_use = "an update does nothing until a node returns it"]
        #vis struct #update { #(#fields,)* }
    }
}

fn builders(state: &State) -> TokenStream {
    let State {
        ident,
        vis,
        krate,
        fields,
    } = state;
    let update = update_ident(ident);
    let methods = fields.iter().map(|field| {
        let Field {
            ident, ty, name, ..
        } = field;
        let set_doc = format!("Writes to `{name}`. A second call takes the place of the first.");
        if !field.has_reducer() {
            return quote! {
                #[doc = #set_doc]
                #vis fn #ident(mut self, value: #ty) -> Self {
                    self.#ident = ::core::option::Option::Some(value);
                    self
                }
            };
        }
        let overwrite = format_ident!("overwrite_{name}");
        let overwrite_doc =
            format!("Makes `{name}` this value, whatever it was. Takes the place of other writes.");
        let push = field.is_a_list().then(|| {
            let push = format_ident!("push_{name}");
            let push_doc = format!("Writes one more item to `{name}`.");
            quote! {
                #[doc = #push_doc]
                #vis fn #push(
                    mut self,
                    item: <#ty as ::core::iter::IntoIterator>::Item,
                ) -> Self {
                    let items = match self.#ident.get_or_insert_with(|| {
                        #krate::Write::Merge(::core::default::Default::default())
                    }) {
                        #krate::Write::Merge(items) | #krate::Write::Overwrite(items) => items,
                    };
                    ::core::iter::Extend::extend(items, ::core::iter::once(item));
                    self
                }
            }
        });
        quote! {
            #[doc = #set_doc]
            #vis fn #ident(mut self, value: #ty) -> Self {
                self.#ident = ::core::option::Option::Some(#krate::Write::Merge(value));
                self
            }

            #push

            #[doc = #overwrite_doc]
            #vis fn #overwrite(mut self, value: #ty) -> Self {
                self.#ident = ::core::option::Option::Some(#krate::Write::Overwrite(value));
                self
            }
        }
    });
    quote! {
        #[automatically_derived]
        // Nobody writes to every field in every way.
        #[allow(dead_code, clippy::allow_attributes)]
        impl #update { #(#methods)* }

        impl #ident {
            /// An update that writes nothing yet.
            #vis fn update() -> #update {
                <#update as ::core::default::Default>::default()
            }
        }
    }
}

fn implementations(state: &State) -> TokenStream {
    let State {
        ident,
        krate,
        fields,
        ..
    } = state;
    let update = update_ident(ident);
    let is_none = fields
        .iter()
        .map(|Field { ident, .. }| quote!(self.#ident.is_none()));
    let all = fields.iter().map(|field| {
        let ident = &field.ident;
        match field.has_reducer() {
            true => {
                quote!(#ident: ::core::option::Option::Some(#krate::Write::Merge(state.#ident)))
            }
            false => quote!(#ident: ::core::option::Option::Some(state.#ident)),
        }
    });
    let merged = fields
        .iter()
        .filter(|field| !matches!(field.merge, Merge::Overwrite));
    let mergers = merged.map(|Field { name, merge, .. }| {
        let merger = format_ident!("__{name}");
        let kind = match merge {
            Merge::Replace => quote!(Replaced),
            _ => quote!(Reduced),
        };
        quote!(let mut #merger = #krate::__private::#kind::new(#name);)
    });
    let writes = fields.iter().map(|field| write(field, krate));
    quote! {
        #[automatically_derived]
        impl #krate::Update for #update {
            fn is_empty(&self) -> bool {
                true #(&& #is_none)*
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#ident> for #update {
            fn from(state: #ident) -> Self {
                Self { #(#all,)* }
            }
        }

        #[automatically_derived]
        impl #krate::IntoNodeOutput<#ident> for #update {
            fn into_node_output(self) -> #krate::NodeOutput<#ident> {
                #krate::NodeOutput::new(self)
            }
        }

        #[automatically_derived]
        impl #krate::GraphState for #ident {
            type Update = #update;

            fn apply<'__n>(
                &mut self,
                writes: impl ::core::iter::Iterator<Item = (&'__n str, #update)>,
            ) -> ::core::result::Result<(), #krate::UpdateError> {
                #(#mergers)*
                for (__node, __update) in writes {
                    #(#writes)*
                }
                ::core::result::Result::Ok(())
            }
        }
    }
}

/// Merges one node's write to a field.
fn write(field: &Field, krate: &Path) -> TokenStream {
    let Field {
        ident, name, merge, ..
    } = field;
    let merger = format_ident!("__{name}");
    let reduce = match merge {
        Merge::Overwrite => {
            return quote! {
                if let ::core::option::Option::Some(__write) = __update.#ident {
                    self.#ident = __write;
                }
            };
        }
        Merge::Replace => {
            return quote! {
                if let ::core::option::Option::Some(__write) = __update.#ident {
                    #merger.write(&mut self.#ident, __node, __write)?;
                }
            };
        }
        Merge::Append => quote! {
            ::core::iter::Extend::extend(__current, __write);
            ::core::result::Result::Ok(())
        },
        Merge::Messages => quote!(#krate::__private::merge_messages(__current, __write)),
        Merge::Reducer(path) => {
            // A function of another type is an error where it is named.
            let reduce = quote_spanned! {path.span()=>
                #krate::__private::Reducer::reduce(&#path, __current, __write)
            };
            quote! {
                #reduce;
                ::core::result::Result::Ok(())
            }
        }
    };
    quote! {
        if let ::core::option::Option::Some(__write) = __update.#ident {
            #merger.write(&mut self.#ident, __node, __write, |__current, __write| { #reduce })?;
        }
    }
}

/// An update type beside the errors, so that where the state is used the compiler does not say that
/// the derive is missing.
fn stand_in(input: &DeriveInput, default_krate: &Path) -> Option<TokenStream> {
    if !input.generics.params.is_empty() {
        return None;
    }
    let krate = super::input::krate(input).ok()?;
    let state = State {
        ident: input.ident.clone(),
        vis: input.vis.clone(),
        krate: krate.unwrap_or_else(|| default_krate.clone()),
        fields: Vec::new(),
    };
    let (update, builders) = (update_type(&state), builders(&state));
    let implementations = implementations(&state);
    Some(quote!(#update #builders #implementations))
}
