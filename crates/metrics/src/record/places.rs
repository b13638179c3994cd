//! Where a server is: what no record may say, and how it is kept from saying it.

use streamgauge_schema::{Case, Condition, Plan, PublicText, RunRecordV2};

use crate::error::RecordError;

/// What stands for a text that would say it.
const WITHHELD: &str = "Withheld: it names the server's host";

/// The hosts of all addresses and of the proxy before it. A name without a dot, such as `vllm` in a network of
/// containers, is a word like others, and this machine's own are no secret.
pub(super) struct Places(Vec<String>);

impl Places {
    pub(super) fn of(plan: &Plan) -> Self {
        let urls = plan.target.base_urls().into_iter().chain(plan.target.route.proxy.as_deref());
        let hosts = urls.filter_map(host);
        Self(hosts.map(str::to_ascii_lowercase).filter(|host| is_telling(host)).collect())
    }

    /// Whether a text says it.
    fn are_in(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        self.0.iter().any(|host| {
            text.match_indices(host.as_str()).any(|(at, _)| {
                let (before, after) = (&text[..at], &text[at + host.len()..]);
                let mut after = after.chars();
                let goes_on = match after.next() {
                    Some('.') => after.next().is_some_and(is_part),
                    next => next.is_some_and(is_part),
                };
                !goes_on && !before.ends_with(is_part)
            })
        })
    }

    /// The conditions, of which each that says it is withheld: they may be what a server says of itself.
    pub(super) fn withheld(&self, mut conditions: Vec<Condition>) -> Vec<Condition> {
        for condition in &mut conditions {
            if self.are_in(condition.value.as_str()) {
                condition.value = PublicText::new(WITHHELD).expect("plain words");
            }
        }
        conditions
    }

    /// Holds what the operator declared to it.
    ///
    /// # Errors
    /// Names the member that says it.
    pub(super) fn check_plan(&self, plan: &Plan) -> Result<(), RecordError> {
        let text = |member, text: Option<&PublicText>| {
            text.filter(|text| self.are_in(text.as_str())).map(|_| member)
        };
        let deployment = &plan.deployment;
        let found = [
            self.are_in(plan.name.as_str()).then_some("name"),
            self.are_in(deployment.id.as_str()).then_some("deployment.id"),
            text("deployment.model", Some(&deployment.model)),
            text("deployment.profile", Some(&deployment.profile)),
            text("deployment.hardware", deployment.hardware.as_ref()),
            text("deployment.quantization", deployment.quantization.as_ref()),
            text("deployment.revision", deployment.revision.as_ref()),
            text("deployment.runtime", deployment.runtime.as_ref()),
            text("deployment.runtime_version", deployment.runtime_version.as_ref()),
            text("deployment.variant", deployment.variant.as_ref()),
            text("image", plan.image.as_ref()),
        ];
        let mut declared = plan.conditions.iter();
        let says =
            |it: &Condition| self.are_in(it.label.as_str()) || self.are_in(it.value.as_str());
        let condition = declared.any(says).then_some("conditions");
        match found.into_iter().flatten().chain(condition).next() {
            Some(member) => Err(RecordError::NamesServer { member }),
            None => Ok(()),
        }
    }

    /// Holds a whole record to it.
    ///
    /// # Errors
    /// Names the member that says it.
    pub(super) fn check(&self, record: &RunRecordV2) -> Result<(), RecordError> {
        let said = |texts: &[PublicText]| texts.iter().any(|text| self.are_in(text.as_str()));
        let conditions = record.conditions.iter().any(|it| self.are_in(it.value.as_str()));
        let metrics = record.metrics.iter().any(|it| self.are_in(it.definition.as_str()));
        let names =
            |case: &Case| self.are_in(case.case_id.as_str()) || self.are_in(case.title.as_str());
        let cases = record.cases.iter().flatten().any(names);
        let found = [
            ("cases", cases),
            ("conditions", conditions),
            ("limitations", said(&record.limitations)),
            ("metrics", metrics),
            ("run_id", self.are_in(record.run_id.as_str())),
        ];
        match found.into_iter().find(|(_, says)| *says) {
            Some((member, _)) => Err(RecordError::NamesServer { member }),
            None => Ok(()),
        }
    }
}

/// The host of a URL; `None` for a socket, whose path no text may hold anyway.
fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split('/').next()?;
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    }
}

fn is_telling(host: &str) -> bool {
    let is_own = host == "localhost"
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    !is_own && host.contains(['.', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::plan;

    #[test]
    fn hosts_are_found_as_words() {
        let places = |base_url: &str, proxy: Option<&str>| {
            let mut plan = plan(1, 1);
            plan.target.base_url = base_url.to_owned();
            plan.target.route.proxy = proxy.map(str::to_owned);
            Places::of(&plan)
        };
        for (base_url, text, expected) in [
            ("https://gpu7.Lab.example:8000/v1", "runs on GPU7.lab.example", true),
            ("https://gpu7.lab.example", "gpu7.lab.example.", true),
            ("https://gpu7.lab.example", "gpu7.lab.example.org", false),
            ("https://gpu7.lab.example", "xgpu7.lab.example", false),
            ("https://gpu7.lab.example", "lab.example", false),
            ("http://10.0.0.1:8000", "at 10.0.0.1", true),
            ("http://10.0.0.1:8000", "version 10.0.0.12", false),
            ("http://[fd00::7]:8000", "at fd00::7, port 8000", true),
            ("http://vllm:8000", "vllm 0.9", false),
            ("http://127.0.0.1:8000", "127.0.0.1", false),
            ("http://localhost", "localhost", false),
            ("unix:///run/a.sock", "a.sock", false),
        ] {
            assert_eq!(places(base_url, None).are_in(text), expected, "{text} at {base_url}");
        }
        assert!(places("http://vllm", Some("http://p.example:1")).are_in("by p.example"));
    }
}
