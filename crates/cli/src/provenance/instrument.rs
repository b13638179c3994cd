//! The program that measures, and the machine it runs on.

use std::fs::{self, File};
use std::thread::available_parallelism;

use object::Object;
use object::read::ReadCache;
use streamgauge_schema::Condition;

use super::condition;

/// Digits of the build id that are kept: enough to tell builds apart, and to find their symbols.
const BUILD_ID_BYTES: usize = 20;

/// What measures, and on what.
pub(crate) fn of_instrument() -> Vec<Condition> {
    vec![
        condition("Instrument build", build()),
        condition("Instrument system", system()),
        condition("Instrument processor", processor()),
        condition("Instrument clock source", line_of(CLOCK_SOURCE)),
    ]
}

/// Which clock the kernel keeps its time by.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The linker's digest of this program's content.
fn build() -> Option<String> {
    let program = ReadCache::new(File::open("/proc/self/exe").ok()?);
    let program = object::File::parse(&program).ok()?;
    let id = program.build_id().ok()??;
    let digits: String = id.iter().take(BUILD_ID_BYTES).map(|byte| format!("{byte:02x}")).collect();
    Some(format!("Build id {digits}"))
}

/// Distribution and kernel.
fn system() -> Option<String> {
    let kernel = line_of("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}"));
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map(|name| name.trim_matches(['"', '\'']).to_owned());
    let told: Vec<String> = [name, kernel].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Its model, where it tells one, and how many of its threads this program may use.
fn processor() -> Option<String> {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = told.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    });
    let threads = available_parallelism().ok().map(|threads| format!("{threads} threads"));
    let told: Vec<String> = [model, threads].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The only line of a file.
fn line_of(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_of_a_test_tells_what_it_is() {
        let told = of_instrument();
        let value = |label: &str| {
            let mut told = told.iter();
            told.find(|it| it.label.as_str() == label).map(|it| it.value.as_str()).unwrap()
        };
        assert!(value("Instrument system").contains("Linux "), "{told:?}");
        assert!(value("Instrument processor").ends_with(" threads"), "{told:?}");
        let build = value("Instrument build");
        assert!(build == "absent" || build.starts_with("Build id "), "{build}");
    }
}
