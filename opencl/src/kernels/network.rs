//! Launches `network.cl` and `position.cl`: all launches of a chain as a single one, on the cores of a host or on a
//! GPU. These files say how the groups share the work.
//!
//! The program contains the texts of all kernels as functions. A table has a row for each launch that it replaces. All
//! memory is collected in two buffers, one of weights and one of values, so that a row names its operands by their
//! offsets. A row waits for earlier rows only if one writes data that the other reads or writes.
//!
//! A network with layers in eight bits, or with a kernel that is needed in two forms, keeps its launches; so does a
//! device whose results differ, or whose groups are not known to finish if they wait for each other. On a GPU a
//! position has to fit a group's local memory, and a group computes the squares of a chessboard: a network with
//! convolutions on another board, like most networks for Go, keeps its launches. There this form is off unless `tune`
//! finds it faster.

use super::launch::check_batch;
use super::{ALONE_ITEMS, COMMON, Compiled, Family, Items, Kernels, Launch, Range, Step, Variant};
use crate::device::{Arenas, Arg, Argument, Buffer, Copies, Device, Error, Kernel, Session};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(super) const FAMILY: Family = Family { name: "network", source: include_str!("network.cl") };
pub(super) const OF_POSITIONS: Family = Family { name: "position", source: include_str!("position.cl") };

/// How many numbers a row of the table has, `ROW` in network.cl: [`HEAD`], and as many arguments as a kernel may have.
const ROW: usize = 32;
/// The meaning of the first numbers of a row, by the names that network.cl and position.cl have for their places.
const NAMES: [&str; 7] = ["KIND", "FROM", "UNTIL", "EACH", "WHOLE", "ACROSS", "WAITS"];
/// How many numbers come before the arguments: those of [`NAMES`], and one to spare.
const HEAD: usize = 8;
const _: () = assert!(NAMES.len() <= HEAD && HEAD < ROW);
/// How many numbers a row's state takes for a group, `STATE` in network.cl: its counters have a cache line to
/// themselves.
const STATE: usize = 16;

/// A chain of launches as a single launch.
#[derive(Debug)]
pub struct Network {
    kernel: Kernel,
    form: Form,
    max_batch: usize,
}

#[derive(Debug)]
enum Form {
    /// `network.cl`.
    Cores(Cores),
    /// `position.cl`.
    Positions,
}

/// How groups on the cores of a host share the work.
#[derive(Debug)]
struct Cores {
    /// Counters of items that were taken and done, by half, row and group.
    state: Buffer,
    /// The half in which the next piece counts; the piece before has left it all zeros.
    half: usize,
    /// The number of groups, see [`groups`].
    groups: usize,
    /// Whether that half is all zeros: it is not after a batch that failed.
    is_clean: bool,
}

/// Indices of the arguments `state`, `half_of_state` and `batch` of network.cl, and of `batch` of position.cl.
#[cfg(test)]
const STATE_ARG: usize = 4;
const HALF_ARG: usize = 5;
const BATCH_ARG: usize = 6;
const POSITIONS_BATCH_ARG: usize = 4;

/// A launch, and the batches for which it is made.
struct Row<'a> {
    launch: &'a Launch,
    from: usize,
    until: usize,
}

impl Row<'_> {
    /// Whether some batch has both rows.
    fn may_meet(&self, other: &Self) -> bool {
        self.from < other.until && other.from < self.until
    }
}

impl Network {
    /// The launches of `steps` as a single launch, and its memory: all of theirs, combined. Until [`move_steps`] is
    /// called, the steps read and write their old buffers. `None` if the kernels don't fit together, if the device is
    /// not known to run them in this way, or if it has no room to combine their memory.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(kernels: &Kernels<'_>, steps: &[Vec<Step>]) -> Result<Option<(Self, Arenas)>, Error> {
        let session = kernels.session;
        if kernels.variant() == Variant::Cpu && !session.device().runs_groups_together() {
            return Ok(None);
        }
        let rows: Vec<Row<'_>> = steps.iter().flatten().flat_map(rows_of).collect();
        let Some(text) = Text::of(kernels, &rows) else { return Ok(None) };
        let program = session.program(text.name, &text.source, &text.options)?;
        let buffers = rows.iter().flat_map(|row| row.launch.compiled.kernel.args()).filter_map(Argument::buffer);
        let Some(arenas) = Arenas::new(session, buffers)? else { return Ok(None) };
        let Some(table) = table(&rows, &text, &arenas) else { return Ok(None) };
        let table = session.upload(&table)?;
        let mut args = vec![
            Arg::Buffer(&table),
            Arg::Int(rows.len()),
            Arg::Buffer(arenas.constant()),
            Arg::Output(arenas.written()),
        ];
        let max_batch = kernels.max_batch;
        if kernels.variant() == Variant::Gpu {
            let kernel = session.kernel(&program, text.name, &args)?;
            let fits = session.work_group_limit(&kernel) >= ALONE_ITEMS;
            return Ok(fits.then_some((Self { kernel, form: Form::Positions, max_batch }, arenas)));
        }
        let groups = groups(session.device());
        let state = session.buffer(2 * rows.len() * groups * STATE)?;
        args.push(Arg::Output(&state));
        let kernel = session.kernel(&program, text.name, &args)?;
        let form = Form::Cores(Cores { state, half: 0, groups, is_clean: false });
        Ok(Some((Self { kernel, form, max_batch }, arenas)))
    }

    /// The same launch for another session.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn copy(&self, copies: &mut Copies<'_>) -> Result<Self, Error> {
        let kernel = copies.kernel(&self.kernel)?;
        let form = match &self.form {
            Form::Cores(Cores { state, half, groups, .. }) => {
                Form::Cores(Cores { state: copies.buffer(state)?, half: *half, groups: *groups, is_clean: false })
            }
            Form::Positions => Form::Positions,
        };
        Ok(Self { kernel, form, max_batch: self.max_batch })
    }

    /// Prepares for a batch, of which any number of pieces can then be enqueued.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn begin(&mut self, session: &Session) -> Result<(), Error> {
        if let Form::Cores(Cores { state, is_clean, .. }) = &mut self.form {
            if !*is_clean {
                session.write(state, &vec![0u32; state.len()])?;
            }
            // This holds until the batch is done.
            *is_clean = false;
        }
        Ok(())
    }

    /// Enqueues a piece of a batch, after everything that was enqueued before.
    ///
    /// # Errors
    /// If the piece is larger than what the steps were made for, or if the driver refuses.
    pub fn enqueue(&mut self, session: &Session, batch: usize) -> Result<(), Error> {
        check_batch(session, batch, self.max_batch)?;
        let kernel = &mut self.kernel;
        let (global, local) = match &mut self.form {
            Form::Cores(Cores { half, groups, .. }) => {
                session.set_arg(kernel, HALF_ARG, Arg::Int(*half))?;
                *half = 1 - *half;
                session.set_arg(kernel, BATCH_ARG, Arg::Int(batch))?;
                ([*groups, 1], [1, 1])
            }
            Form::Positions => {
                session.set_arg(kernel, POSITIONS_BATCH_ARG, Arg::Int(batch))?;
                ([batch * ALONE_ITEMS, 1], [ALONE_ITEMS, 1])
            }
        };
        // SAFETY: each item does what an item of a launch would, which its launcher answers for; the table says how
        // many there are and where their memory lies. `state` has room for this many groups.
        unsafe { session.run(kernel, global, local) }
    }

    /// Sets another number of groups than one for each core, because a test's machine has few cores.
    ///
    /// # Errors
    /// If the driver refuses.
    #[cfg(test)]
    pub fn in_groups(&mut self, session: &Session, number: usize) -> Result<(), Error> {
        let Form::Cores(Cores { state, groups, is_clean, .. }) = &mut self.form else { return Ok(()) };
        *state = session.buffer(state.len() / *groups * number)?;
        (*groups, *is_clean) = (number, false);
        session.set_arg(&mut self.kernel, STATE_ARG, Arg::Output(state))
    }

    /// Records that the enqueued batch is done, and that nothing failed.
    pub fn done(&mut self) {
        if let Form::Cores(cores) = &mut self.form {
            cores.is_clean = true;
        }
    }
}

/// Makes all steps read and write where the arenas say that their buffers are now.
///
/// # Errors
/// If the driver refuses.
pub fn move_steps(session: &Session, arenas: &Arenas, steps: &mut [Vec<Step>]) -> Result<(), Error> {
    let mut launches = steps.iter_mut().flatten().flat_map(Step::launches_mut);
    launches.try_for_each(|launch| arenas.move_args(session, &mut launch.compiled.kernel))
}

/// The number of groups: as many as the device has cores, but no more than this process may use: a group that waits
/// takes a core's time from another that works.
fn groups(device: &Device) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (device.compute_units as usize).clamp(1, cores)
}

fn rows_of(step: &Step) -> impl Iterator<Item = Row<'_>> {
    step.by_size().map(|(launch, sizes)| Row { launch, from: sizes.start, until: sizes.end })
}

/// A kernel as a case of `run_items` or `position`.
#[derive(PartialEq, Eq, Clone)]
struct Case {
    name: String,
    calls: Calls,
    args: Vec<Of>,
}

/// How a kernel is called for its items.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Calls {
    /// One after the other, in groups of `items`; for `by_position` see [`Items::ByPosition`].
    InTurn { items: usize, by_position: bool },
    /// All items of a group at once, see [`Items::Together`].
    Together,
    /// Each item by itself, as many at once as a group has.
    AtOnce,
}

/// Where an argument comes from.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Of {
    Weights,
    Values,
    Number,
    /// Local memory, from this many fours on.
    Local(usize),
}

/// How many fours of numbers hold `floats` floats.
fn fours(floats: usize) -> usize {
    floats.div_ceil(4)
}

impl Case {
    /// `None` if the kernel has more arguments than a row has room for, or if its groups can't be those of the network.
    fn of(variant: Variant, launch: &Launch) -> Option<Self> {
        let mut local = 0;
        let mut of = |arg: &Argument| match arg {
            Argument::Buffer { buffer, .. } if buffer.is_constant() => Some(Of::Weights),
            Argument::Buffer { .. } => Some(Of::Values),
            Argument::Int(_) => Some(Of::Number),
            Argument::Local(floats) if variant == Variant::Gpu => {
                local += fours(*floats);
                Some(Of::Local(local - fours(*floats)))
            }
            Argument::Nothing | Argument::Local(_) => None,
        };
        let args = launch.own_args().iter().map(&mut of).collect::<Option<Vec<_>>>()?;
        let Range { each, whole, local: [rows, items], .. } = launch.range;
        let (fits, calls) = match variant {
            Variant::Cpu => (rows == 1, Calls::InTurn { items, by_position: launch.items == Items::ByPosition }),
            // What a group does belongs to one position.
            Variant::Gpu if launch.items == Items::Together => {
                (each == whole && rows * items == ALONE_ITEMS, Calls::Together)
            }
            Variant::Gpu => (each == whole && rows == 1, Calls::AtOnce),
        };
        let name = launch.compiled.kernel.name().to_string();
        (fits && args.len() <= ROW - HEAD).then_some(Self { name, calls, args })
    }

    fn text(&self, kind: usize) -> String {
        let Self { name, calls, args } = self;
        let args = args.iter().enumerate().map(|(at, of)| match of {
            Of::Weights => format!("(global void *)(weights + row[{}])", HEAD + at),
            Of::Values => format!("(global void *)(values + row[{}])", HEAD + at),
            Of::Number => format!("row[{}]", HEAD + at),
            Of::Local(fours) => format!("(local void *)(shared + {fours})"),
        });
        let args: String = args.flat_map(|arg| [", ".to_string(), arg]).collect();
        let call = match calls {
            Calls::InTurn { items: 1, by_position } => format!("{}({name}(x, y{args}, batch);)", order(*by_position)),
            Calls::InTurn { items, by_position } => {
                let each = format!("for (int k = 0; k < {items}; k++) {name}(x, y * {items} + k{args}, batch);");
                format!("{}({each})", order(*by_position))
            }
            Calls::Together => format!("BY_GROUP({name}(n, g, row[ACROSS], shared{args}, batch);)"),
            Calls::AtOnce => format!("BY_ITEM({name}(n, y{args}, batch);)"),
        };
        format!(" \\\n    case {kind}: \\\n        {call} \\\n        break;")
    }

    /// How many fours of local memory its arguments take.
    fn local_fours(launch: &Launch) -> usize {
        let floats = |arg: &Argument| if let Argument::Local(floats) = arg { *floats } else { 0 };
        launch.own_args().iter().map(|arg| fours(floats(arg))).sum()
    }
}

fn order(by_position: bool) -> &'static str {
    if by_position { "BY_POSITION" } else { "BY_WEIGHTS" }
}

/// What comes before network.cl and position.cl: the names of their numbers, and `CASES`.
fn preamble(cases: &[Case]) -> String {
    let mut text = String::new();
    let places = NAMES.iter().enumerate().map(|(at, name)| (*name, at));
    for (name, number) in places.chain([("ROW", ROW), ("STATE", STATE), ("ITEMS", ALONE_ITEMS)]) {
        let _ = writeln!(text, "#define {name} {number}");
    }
    text.push_str("#define CASES");
    cases.iter().enumerate().for_each(|(kind, case)| text.push_str(&case.text(kind)));
    text.push('\n');
    text
}

/// The text that is generated here and is in no file, shown for one kernel of each form: for [`super::version`].
pub(super) fn sample() -> String {
    let in_turn = [(1, true), (1, false), (2, true), (2, false)];
    let in_turn = in_turn.map(|(items, by_position)| Calls::InTurn { items, by_position });
    let args = [Of::Weights, Of::Values, Of::Number, Of::Local(1)];
    let cases = in_turn.into_iter().chain([Calls::Together, Calls::AtOnce]);
    preamble(&cases.map(|calls| Case { name: "kernel".into(), calls, args: args.to_vec() }).collect::<Vec<_>>())
}

/// The program of a network.
struct Text {
    variant: Variant,
    name: &'static str,
    source: String,
    options: String,
    /// The case of each row.
    kinds: Vec<usize>,
}

impl Text {
    /// `None` if a family is needed in two forms, which would give two functions the same name, or in eight bits.
    fn of(kernels: &Kernels<'_>, rows: &[Row<'_>]) -> Option<Self> {
        let variant = kernels.variant();
        // Local memory that is an argument, and local memory that a family's text declares.
        let mut shared = BTreeSet::from(["1".to_string()]);
        let mut families: BTreeMap<&str, (Family, BTreeMap<&str, &str>)> = BTreeMap::new();
        let (mut cases, mut kinds) = (Vec::<Case>::new(), Vec::new());
        for row in rows {
            let Compiled { family, options, .. } = &row.launch.compiled;
            let (_, known) = families.entry(family.name).or_insert((*family, BTreeMap::new()));
            for option in options.split_whitespace() {
                let (name, value) = option.strip_prefix("-D")?.split_once('=')?;
                if *known.entry(name).or_insert(value) != value {
                    return None;
                }
            }
            if variant == Variant::Gpu && (row.from, row.until) != (0, usize::MAX) {
                // A group knows its position, but not how many there are.
                return None;
            }
            let case = Case::of(variant, row.launch)?;
            if row.launch.items == Items::Together {
                let fours = Case::local_fours(row.launch);
                shared.insert(if fours > 0 { fours.to_string() } else { format!("{}_fours", family.name) });
            }
            kinds.push(cases.iter().position(|known| *known == case).unwrap_or(cases.len()));
            if kinds.last() == Some(&cases.len()) {
                cases.push(case);
            }
        }
        let mut source = format!("{COMMON}\n");
        for (family, options) in families.values() {
            for (name, value) in options {
                let _ = writeln!(source, "#define {name} {value}");
            }
            source.push_str(family.source);
            let names = options.keys().copied().chain(defined(family.source));
            names.for_each(|name| _ = writeln!(source, "#undef {name}"));
        }
        source.push_str(&preamble(&cases));
        let of_all = match variant {
            Variant::Cpu => FAMILY,
            Variant::Gpu => {
                let shared = shared.into_iter().reduce(|most, fours| format!("MOST({fours}, {most})"));
                let shared = shared.unwrap_or_default();
                let _ = writeln!(source, "#define MOST(a, b) ((a) > (b) ? (a) : (b))\n#define SHARED {shared}");
                OF_POSITIONS
            }
        };
        source.push_str(of_all.source);
        let options = format!("{} -DIN_NETWORK", kernels.options());
        Some(Self { variant, name: of_all.name, source, options, kinds })
    }
}

/// The macros that a text defines: they are undefined after it, since other texts define some of the same names.
fn defined(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("#define ")?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

/// The numbers of each row that network.cl and position.cl read. `None` if a number is more than an `int` holds.
fn table(rows: &[Row<'_>], text: &Text, arenas: &Arenas) -> Option<Vec<u32>> {
    let mut table = Vec::with_capacity(rows.len() * ROW);
    // The first of the rows that may still be running.
    let mut waited = 0;
    for (at, Row { launch, from, until }) in rows.iter().enumerate() {
        let waits = rows[waited..at].iter().any(|before| before.may_meet(&rows[at]) && conflict(before.launch, launch));
        if waits {
            waited = at;
        }
        let Range { each, whole, mut across, local } = launch.range;
        if text.variant == Variant::Gpu && launch.items != Items::Together {
            across *= local[1];
        }
        let until = (*until).min(i32::MAX as usize);
        let head: [usize; NAMES.len()] = [text.kinds[at], *from, until, each, whole, across, waits.into()];
        let mut row = head.to_vec();
        row.resize(HEAD, 0);
        for arg in launch.own_args() {
            row.push(match arg {
                Argument::Buffer { buffer, .. } => arenas.place(buffer)?,
                Argument::Int(number) => *number,
                Argument::Local(_) => 0,
                Argument::Nothing => return None,
            });
        }
        row.resize(ROW, 0);
        for number in row {
            table.push(i32::try_from(number).ok()? as u32);
        }
    }
    Some(table)
}

/// Whether one launch writes to what the other reads or writes.
fn conflict(a: &Launch, b: &Launch) -> bool {
    let pairs = |x: &Argument, y: &Argument| match (x, y) {
        (Argument::Buffer { buffer, is_output }, Argument::Buffer { buffer: other, is_output: also }) => {
            (*is_output || *also) && buffer.is(other)
        }
        _ => false,
    };
    a.own_args().iter().any(|x| b.own_args().iter().any(|y| pairs(x, y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_of_a_text_are_found() {
        let text = "#define A 1\n  #define B_2(x) \\\n    x\n#ifdef C\n#undef A\n";
        assert_eq!(defined(text).collect::<Vec<_>>(), ["A", "B_2"]);
    }

    #[test]
    fn places_in_a_row_have_their_names_from_here_alone() {
        let own: Vec<_> = defined(FAMILY.source).chain(defined(OF_POSITIONS.source)).collect();
        for name in NAMES.into_iter().chain(["ROW", "STATE", "ITEMS", "SHARED"]) {
            assert!(!own.contains(&name), "{name}");
        }
    }
}
