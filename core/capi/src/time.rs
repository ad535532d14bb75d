//! The time manager and the moves-left estimator, with or without a search.

use crate::handle::{Handle, alone, input, output, padding, place};
use crate::status::{OncillaStatus, attempt};
use core::ffi::c_void;
use oncilla_core::time::unrest::UnrestParams;
use oncilla_core::time::{
    AlphaZeroParams, Clock, Leader, LegacyParams, Manager, ManagerParams, MleLegacy, MleNetwork, MlePieces,
    MovesLeftEstimator, SimpleParams, SmoothParams,
};

/// `OncillaTimeParams.manager`: every move's tree should hold the same number of nodes.
pub const ONCILLA_TIME_SMOOTH: u32 = 0;
/// `OncillaTimeParams.manager`: the time is shared out evenly over the moves left.
pub const ONCILLA_TIME_LEGACY: u32 = 1;
/// `OncillaTimeParams.manager`: every move gets a fixed part of the clock.
pub const ONCILLA_TIME_ALPHAZERO: u32 = 2;
/// `OncillaTimeParams.manager`: a move gets a part of the clock that grows with the game.
pub const ONCILLA_TIME_SIMPLE: u32 = 3;

/// Bytes that a time manager takes, at most.
pub const ONCILLA_TIME_BYTES: usize = 1024;

const _: () = assert!(size_of::<OncillaTime>() + padding::<OncillaTime>() <= ONCILLA_TIME_BYTES);

/// How moves left are estimated: from the evaluator's plies if they are known, else from the number of pieces if it is
/// known, else from the move number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaMovesLeft {
    /// Not 0: the evaluator's plies may be used.
    pub network: u32,
    /// Not 0: the number of pieces may be used.
    pub pieces: u32,
    /// mle-network: the estimate is never less than this. From 1 to 1,000,000.
    pub network_least: f64,
    /// mle-network: the estimate is never more than this many times that of mle-legacy. From 1 to 1,000,000.
    pub network_most: f64,
    /// mle-pieces: moves left with all 32 pieces. From 1 to 1,000,000.
    pub pieces_full: f64,
    /// mle-pieces: moves left with only the two kings. From 1 to 1,000,000.
    pub pieces_bare: f64,
    /// mle-legacy: the move at which half of the games have ended. Above 0, at most 1,000,000.
    pub midpoint: f64,
    /// mle-legacy: how sharply the estimate turns at the midpoint. In [0.01, 1000].
    pub steepness: f64,
}

/// The parameters of `smooth`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaSmooth {
    /// First guess of the part of a tree that the next move starts with. In [0, 1).
    pub init_tree_reuse: f64,
    /// The guess of the tree reuse never goes above this. In [0, 1).
    pub max_tree_reuse: f64,
    /// After this many average moves, the guess of the tree reuse has gone half of the way. Above 0.
    pub tree_reuse_update_rate: f64,
    /// First guess of the nodes per second. Above 0.
    pub init_nps: f64,
    /// After this many seconds of search, the guess of the nodes per second has gone half of the way. Above 0.
    pub nps_update_rate: f64,
    /// First guess of the part of a budget that is used. Above 0.
    pub init_timeuse: f64,
    /// The guess of the time use never goes below this. Above 0.
    pub min_timeuse: f64,
    /// After this many average moves, the guess of the time use has gone half of the way. Above 0.
    pub timeuse_update_rate: f64,
    /// The part of the clock that one move may be given at most. In (0, 1].
    pub max_move_budget: f64,
    /// A budget is at least this part of the average move's time. At least 0.
    pub min_move_budget: f64,
    /// The part of the clock that only unsettled searches may use. In [0, 1).
    pub reserve: f64,
    /// The most that an unsettled search gets in addition, as a multiple of its budget. At least 0.
    pub max_extension: f64,
    /// How fast budgets are corrected if moves took less, or more, than an average move's time. In [0, 1].
    pub pace_rate: f64,
    /// A search is unsettled if the best move's value has fallen by this much. At least 0.
    pub value_drop: f64,
    /// A best move is new for this part of the search's time. At least 0.
    pub settle_time: f64,
    /// How moves left are estimated.
    pub moves_left: OncillaMovesLeft,
}

/// The parameters of `legacy`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaLegacy {
    /// Factor of every budget. In [0, 100].
    pub slowmover: f64,
    /// As in OncillaMovesLeft.
    pub midpoint: f64,
    /// As in OncillaMovesLeft.
    pub steepness: f64,
    /// The part of the spared time that the next move may use at once. In [0, 1].
    pub immediate_use: f64,
    /// What the first move gets in addition, as a part of its time. In [0, 100].
    pub first_move_bonus: f64,
    /// What the first move gets in addition, in the same way, for each half move that was played before it. In [0,
    /// 100].
    pub book_ply_bonus: f64,
}

/// The parameters of `simple`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaSimple {
    /// Part of the clock for a move at the start of the game, in percent. In (0, 100].
    pub base_pct: f64,
    /// What each half move adds to base_pct, in percent. In [0, 1].
    pub ply_pct: f64,
    /// How many increments are used for each move. In [0, 100].
    pub time_factor: f64,
    /// What the first move gets in addition, in percent of its time. In [0, 1000].
    pub opening_bonus_pct: f64,
}

/// A time manager and its parameters; those of the other managers are ignored. Begin with oncilla_time_params_default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaTimeParams {
    /// ONCILLA_TIME_SMOOTH and so on.
    pub manager: u32,
    /// The parameters of `smooth`.
    pub smooth: OncillaSmooth,
    /// The parameters of `legacy`.
    pub legacy: OncillaLegacy,
    /// The parameter of `alphazero`: the part of the clock for each move, in percent. In [0, 100].
    pub alphazero_time_pct: f64,
    /// The parameters of `simple`.
    pub simple: OncillaSimple,
}

impl From<MovesLeftEstimator> for OncillaMovesLeft {
    fn from(params: MovesLeftEstimator) -> Self {
        let (network, pieces) = (params.network.unwrap_or_default(), params.pieces.unwrap_or_default());
        Self {
            network: params.network.is_some().into(),
            pieces: params.pieces.is_some().into(),
            network_least: network.least,
            network_most: network.most,
            pieces_full: pieces.full,
            pieces_bare: pieces.bare,
            midpoint: params.legacy.midpoint,
            steepness: params.legacy.steepness,
        }
    }
}

impl OncillaMovesLeft {
    fn checked(&self) -> Result<MovesLeftEstimator, OncillaStatus> {
        let network = MleNetwork { least: self.network_least, most: self.network_most };
        let pieces = MlePieces { full: self.pieces_full, bare: self.pieces_bare };
        let params = MovesLeftEstimator {
            network: (self.network != 0).then_some(network),
            pieces: (self.pieces != 0).then_some(pieces),
            legacy: MleLegacy { midpoint: self.midpoint, steepness: self.steepness },
        };
        params.check().map_err(|_| OncillaStatus::OncillaBadNumber)?;
        Ok(params)
    }
}

impl From<SmoothParams> for OncillaSmooth {
    fn from(params: SmoothParams) -> Self {
        Self {
            init_tree_reuse: params.init_tree_reuse,
            max_tree_reuse: params.max_tree_reuse,
            tree_reuse_update_rate: params.tree_reuse_update_rate,
            init_nps: params.init_nps,
            nps_update_rate: params.nps_update_rate,
            init_timeuse: params.init_timeuse,
            min_timeuse: params.min_timeuse,
            timeuse_update_rate: params.timeuse_update_rate,
            max_move_budget: params.max_move_budget,
            min_move_budget: params.min_move_budget,
            reserve: params.reserve,
            max_extension: params.max_extension,
            pace_rate: params.pace_rate,
            value_drop: params.unrest.value_drop,
            settle_time: params.unrest.settle_time,
            moves_left: params.moves_left.into(),
        }
    }
}

impl OncillaSmooth {
    fn params(&self) -> Result<SmoothParams, OncillaStatus> {
        Ok(SmoothParams {
            init_tree_reuse: self.init_tree_reuse,
            max_tree_reuse: self.max_tree_reuse,
            tree_reuse_update_rate: self.tree_reuse_update_rate,
            init_nps: self.init_nps,
            nps_update_rate: self.nps_update_rate,
            init_timeuse: self.init_timeuse,
            min_timeuse: self.min_timeuse,
            timeuse_update_rate: self.timeuse_update_rate,
            max_move_budget: self.max_move_budget,
            moves_left: self.moves_left.checked()?,
            min_move_budget: self.min_move_budget,
            reserve: self.reserve,
            max_extension: self.max_extension,
            pace_rate: self.pace_rate,
            unrest: UnrestParams { value_drop: self.value_drop, settle_time: self.settle_time },
        })
    }
}

impl OncillaTimeParams {
    const fn defaults(smooth: OncillaSmooth, legacy: LegacyParams, time_pct: f64, simple: SimpleParams) -> Self {
        Self {
            manager: ONCILLA_TIME_SMOOTH,
            smooth,
            legacy: OncillaLegacy {
                slowmover: legacy.slowmover,
                midpoint: legacy.moves_left.midpoint,
                steepness: legacy.moves_left.steepness,
                immediate_use: legacy.immediate_use,
                first_move_bonus: legacy.first_move_bonus,
                book_ply_bonus: legacy.book_ply_bonus,
            },
            alphazero_time_pct: time_pct,
            simple: OncillaSimple {
                base_pct: simple.base_pct,
                ply_pct: simple.ply_pct,
                time_factor: simple.time_factor,
                opening_bonus_pct: simple.opening_bonus_pct,
            },
        }
    }

    fn params(&self) -> Result<ManagerParams, OncillaStatus> {
        Ok(match self.manager {
            ONCILLA_TIME_SMOOTH => ManagerParams::Smooth(self.smooth.params()?),
            ONCILLA_TIME_LEGACY => ManagerParams::Legacy(LegacyParams {
                slowmover: self.legacy.slowmover,
                moves_left: MleLegacy { midpoint: self.legacy.midpoint, steepness: self.legacy.steepness },
                immediate_use: self.legacy.immediate_use,
                first_move_bonus: self.legacy.first_move_bonus,
                book_ply_bonus: self.legacy.book_ply_bonus,
            }),
            ONCILLA_TIME_ALPHAZERO => ManagerParams::AlphaZero(AlphaZeroParams { time_pct: self.alphazero_time_pct }),
            ONCILLA_TIME_SIMPLE => ManagerParams::Simple(SimpleParams {
                base_pct: self.simple.base_pct,
                ply_pct: self.simple.ply_pct,
                time_factor: self.simple.time_factor,
                opening_bonus_pct: self.simple.opening_bonus_pct,
            }),
            _ => return Err(OncillaStatus::OncillaBadChoice),
        })
    }

    fn manager(&self) -> Result<Manager, OncillaStatus> {
        Manager::new(self.params()?).map_err(|_| OncillaStatus::OncillaBadNumber)
    }
}

/// The time manager of one player's clock in one game. It is in the host's memory.
#[repr(C, align(8))]
pub struct OncillaTime {
    mark: u32,
    /// True between oncilla_time_start and oncilla_time_end.
    running: bool,
    manager: Manager,
}

// SAFETY: `repr(C)`, and the mark comes first.
unsafe impl Handle for OncillaTime {
    const MARK: u32 = u32::from_be_bytes(*b"time");
}

/// The clock and the board as they stand when the engine begins to think. All fields but the first may be 0: then
/// nothing but the time left is known. Times are in milliseconds; negative ones, and those that are not numbers, count
/// as 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaClock {
    /// Time left.
    pub base_ms: f64,
    /// Time that a move adds to the clock.
    pub increment_ms: f64,
    /// Time between our answer and the moment when the opponent's clock starts to run.
    pub overhead_ms: f64,
    /// Moves until the next time control, this one included; 0: the rest of the game.
    pub moves_to_go: u32,
    /// Half moves played since the start of the game.
    pub ply: u32,
    /// Pieces on the board, kings and pawns among them; 0: not known, or the game has no pieces.
    pub pieces: u32,
    /// Half moves until the end of the game, as the evaluator expects them; not above 0: not known.
    pub network_plies: f64,
}

impl From<&OncillaClock> for Clock {
    fn from(clock: &OncillaClock) -> Self {
        Self {
            base_ms: clock.base_ms,
            increment_ms: clock.increment_ms,
            overhead_ms: clock.overhead_ms,
            moves_to_go: Some(clock.moves_to_go).filter(|moves| *moves > 0),
            ply: clock.ply,
            pieces: Some(clock.pieces).filter(|pieces| *pieces > 0),
            network_plies: Some(clock.network_plies).filter(|plies| *plies > 0.0),
            ..Self::default()
        }
    }
}

/// What a move is given, in milliseconds from its start.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaBudget {
    /// What the manager's formulas give. May be negative.
    pub budget_ms: f64,
    /// When to stop.
    pub limit_ms: f64,
    /// How much later to stop while the search is unsettled: see oncilla_time_leader.
    pub extension_ms: f64,
    /// Before this time, only a move that is known to be the best ends a search.
    pub floor_ms: f64,
    /// Not 0: there is no time to wait for a playout, provided that the tree has an answer.
    pub in_hurry: u32,
}

/// The most visited move at the root.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaLeader {
    /// Any number that identifies the move during a search.
    pub mv: u32,
    /// The move's wl to the side that plays it, plus its d times the draw score if there is one; in [-1, 1].
    pub q: f32,
    /// Not 0: the second most visited move has a higher value.
    pub contested: u32,
}

/// `params` gets the defaults of every manager, with `smooth` chosen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_time_params_default(params: *mut OncillaTimeParams) -> OncillaStatus {
    attempt(|| {
        let smooth = SmoothParams::default().into();
        let time_pct = AlphaZeroParams::default().time_pct;
        let all = OncillaTimeParams::defaults(smooth, LegacyParams::default(), time_pct, SimpleParams::default());
        // SAFETY: the contract of the crate.
        unsafe { output(params)? }.set(all);
        Ok(())
    })
}

/// How many bytes of memory a time manager takes.
#[unsafe(no_mangle)]
pub extern "C" fn oncilla_time_size() -> usize {
    size_of::<OncillaTime>() + padding::<OncillaTime>()
}

/// Makes the time manager of a new game in `memory`. `params` may be NULL, for the defaults. Returns ONCILLA_BAD_NUMBER
/// if a parameter of the chosen manager is out of its range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_time_new(
    memory: *mut c_void,
    bytes: usize,
    params: *const OncillaTimeParams,
    time: *mut *mut OncillaTime,
) -> OncillaStatus {
    attempt(|| {
        let manager = if params.is_null() {
            Manager::default()
        } else {
            // SAFETY: the contract of the crate.
            unsafe { input(params)? }.manager()?
        };
        // SAFETY: the contract of the crate.
        let to = unsafe { output(time)? };
        // SAFETY: the contract of the crate.
        let handle = unsafe { place(memory, bytes, oncilla_time_size())? };
        // SAFETY: `place` found aligned room.
        unsafe { handle.write(OncillaTime { mark: OncillaTime::MARK, running: false, manager }) };
        to.set(handle.as_ptr());
        Ok(())
    })
}

/// Starts a move; `budget` gets what the move is given. `reused_visits` are those that its root has already, from earlier
/// moves of the game: `visits` of oncilla_stats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_time_start(
    time: *mut OncillaTime,
    clock: *const OncillaClock,
    reused_visits: u64,
    budget: *mut OncillaBudget,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (time, clock, to) = unsafe { (alone(time)?, input(clock)?, output(budget)?) };
        let budget = time.manager.on_move_start(&clock.into(), reused_visits);
        time.running = true;
        to.set(OncillaBudget {
            budget_ms: budget.budget_ms,
            limit_ms: budget.limit_ms,
            extension_ms: budget.extension_ms,
            floor_ms: budget.floor_ms,
            in_hurry: budget.in_hurry.into(),
        });
        Ok(())
    })
}

/// Reports that the search has run for `elapsed_ms` since the move's start and has done `new_playouts`: those that were
/// brought back, not nodes of memory, of which a full tree gets no more. Call it as often as is convenient.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_time_progress(
    time: *mut OncillaTime,
    elapsed_ms: f64,
    new_playouts: u64,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let time = unsafe { running(time)? };
        time.manager.on_progress(elapsed_ms, new_playouts);
        Ok(())
    })
}

/// Reports the best move after `elapsed_ms`. `go_on` becomes 1 if the search should go on beyond its budget, within the
/// extension; otherwise 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_time_leader(
    time: *mut OncillaTime,
    elapsed_ms: f64,
    leader: *const OncillaLeader,
    go_on: *mut u32,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (time, leader, to) = unsafe { (running(time)?, input(leader)?, output(go_on)?) };
        let leader = Leader { mv: leader.mv, q: leader.q, contested: leader.contested != 0 };
        to.set(time.manager.on_leader(elapsed_ms, leader).into());
        Ok(())
    })
}

/// Ends the move, `used_ms` after its start; the search has done `new_playouts`, counted as by oncilla_time_progress.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_time_end(time: *mut OncillaTime, used_ms: f64, new_playouts: u64) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let time = unsafe { running(time)? };
        time.manager.on_move_end(used_ms, new_playouts);
        time.running = false;
        Ok(())
    })
}

/// A time manager whose move was started.
///
/// # Safety
/// As for [`alone`].
unsafe fn running<'h>(time: *mut OncillaTime) -> Result<&'h mut OncillaTime, OncillaStatus> {
    // SAFETY: the caller's contract is this function's.
    let time = unsafe { alone(time)? };
    if time.running { Ok(time) } else { Err(OncillaStatus::OncillaNoMoveStarted) }
}

/// `params` gets the defaults of the moves-left estimator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_moves_left_default(params: *mut OncillaMovesLeft) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { output(params)? }.set(MovesLeftEstimator::default().into());
        Ok(())
    })
}

/// `moves` gets how many moves one side still has to play, this one included. The estimate uses the ply, the pieces and
/// the evaluator's plies in `clock`. `params` may be NULL, for the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_moves_left(
    params: *const OncillaMovesLeft,
    clock: *const OncillaClock,
    moves: *mut f64,
) -> OncillaStatus {
    attempt(|| {
        let params = if params.is_null() {
            MovesLeftEstimator::default()
        } else {
            // SAFETY: the contract of the crate.
            unsafe { input(params)? }.checked()?
        };
        // SAFETY: the contract of the crate.
        let (clock, to) = unsafe { (input(clock)?, output(moves)?) };
        to.set(params.estimate(&clock.into()));
        Ok(())
    })
}
