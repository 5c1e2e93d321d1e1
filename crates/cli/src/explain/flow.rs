use llamon_agent::contracts::{
    Candidate, CompiledContracts, ContractError, InputContract, InputContracts, InputKind,
    OnMissing, SelectedItem,
};
use llamon_agent::core::{Part, PartKind, Payload, Upstream, UpstreamPartsPolicy, compose};

/// What happens to a message, from what arrives to what the answer is.
pub(super) struct Flow {
    /// All parts that arrived, text included.
    pub(super) parts: Vec<Part>,
    /// By contract, in the order of declaration.
    pub(super) inputs: Vec<Input>,
    /// What the server does because of required inputs that are missing, if one is.
    pub(super) missing: Option<OnMissing>,
    pub(super) current: Payload,
    pub(super) policy: UpstreamPartsPolicy,
    /// The parts of the answer; none where the agent does not run.
    pub(super) answer: Option<Vec<Kept>>,
}

/// What became of one contract.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) kind: InputKind,
    pub(super) is_required: bool,
    pub(super) found: Found,
    /// What the contract makes of each part.
    pub(super) candidates: Vec<Candidate>,
}

pub(super) enum Found {
    Selected(Vec<SelectedItem>),
    /// The JSON text of the default.
    Default(String),
    Absent,
    Missing {
        problem: String,
        description: Option<String>,
        on_missing: OnMissing,
    },
}

/// A part of the answer.
pub(super) struct Kept {
    pub(super) part: Part,
    /// The part's place among those that arrived; none of what the agent made.
    pub(super) arrived: Option<usize>,
}

impl Flow {
    /// Takes a message through the contracts and its answer through the policy. `compiled` is
    /// made of `contracts`.
    pub(super) fn new(
        contracts: &InputContracts,
        compiled: &CompiledContracts,
        parts: Vec<Part>,
        current: Payload,
        policy: UpstreamPartsPolicy,
    ) -> Result<Self, ContractError> {
        let explained = compiled.explain(&parts).into_iter();
        let inputs = contracts
            .iter()
            .zip(explained)
            .map(|(contract, (_, candidates))| Input::new(contract, candidates, &parts))
            .collect::<Result<_, _>>()?;
        let missing = compiled.select(&parts).err().map(|miss| miss.on_missing());
        let answer = missing
            .is_none()
            .then(|| answer(&parts, current.clone(), policy));
        Ok(Self {
            parts,
            inputs,
            missing,
            current,
            policy,
            answer,
        })
    }

    pub(super) fn missing_names(&self) -> impl Iterator<Item = &str> {
        let is_missing = |input: &&Input| matches!(input.found, Found::Missing { .. });
        self.inputs
            .iter()
            .filter(is_missing)
            .map(|input| input.name.as_str())
    }
}

impl Input {
    fn new(
        contract: &InputContract,
        candidates: Vec<Candidate>,
        parts: &[Part],
    ) -> Result<Self, ContractError> {
        let name = contract.name();
        // On its own, so that another one's miss does not hide what this one selects.
        let alone = InputContracts::new().with(contract.clone()).compile()?;
        let found = match alone.select(parts) {
            Ok(selected) => {
                let input = selected.get(name);
                match input.json() {
                    _ if !input.items().is_empty() => Found::Selected(input.items().to_vec()),
                    Some(default) => Found::Default(default.to_owned()),
                    None => Found::Absent,
                }
            }
            Err(miss) => {
                let this = miss.misses().first();
                Found::Missing {
                    problem: this
                        .map(|miss| miss.problem().to_owned())
                        .unwrap_or_default(),
                    description: this.and_then(|miss| miss.description().map(str::to_owned)),
                    on_missing: miss.on_missing(),
                }
            }
        };
        Ok(Self {
            name: name.to_owned(),
            kind: contract.kind(),
            is_required: contract.is_required(),
            found,
            candidates,
        })
    }
}

fn answer(parts: &[Part], current: Payload, policy: UpstreamPartsPolicy) -> Vec<Kept> {
    let own = current.parts().len();
    let is_upstream =
        |(index, part): (usize, &Part)| (part.kind() != PartKind::Text).then_some(index);
    let arrived = parts.iter().enumerate().filter_map(is_upstream).map(Some);
    let whence = std::iter::repeat_n(None, own).chain(arrived);
    compose(current, &Upstream::of(parts), policy)
        .into_parts()
        .into_iter()
        .zip(whence)
        .map(|(part, arrived)| Kept { part, arrived })
        .collect()
}
