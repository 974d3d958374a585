//! The third world: what a drill goes through ends as its like does in simulation, and so does what is done to the zone
//! for real meanwhile.

use understudy::failover::plan::Kind::{Failover, Rollback, Switchover};

use crate::agree::Lasting::{self, Lowering, Nothing, Steps as Shares};
use crate::agree::Step::{self, Begin, Edit, Killed, Refused, Rest, Until};
use crate::agree::{AMBER, BLUE, CORAL, End, InSimulation, Live, ZONE, all_at_once};
use crate::case::Change;

/// A drill from amber to blue, and its like in simulation.
struct Drilled {
    name: &'static str,
    /// What lasts until somebody ends it.
    lasting: Lasting,
    /// How long it may take.
    deadline: &'static str,
    /// What is so before.
    before: &'static [Step],
    /// What is done while it is under way.
    meanwhile: Meanwhile,
    /// What moves in simulation as the drill does.
    like: &'static [Step],
    /// How it ends, and a part of the reason.
    ends: (&'static str, &'static str),
    /// What moves in simulation as the public does.
    public: &'static [Step],
}

/// What is done while a drill is under way.
enum Meanwhile {
    Nothing,
    Step(Step),
    Command(&'static str),
}

const DRILLS: &[Drilled] = &[
    Drilled {
        name: "there and back",
        lasting: Nothing,
        deadline: "1h",
        before: &[],
        meanwhile: Meanwhile::Nothing,
        like: &[Begin(Switchover, BLUE), Rest, Begin(Rollback, AMBER), Rest],
        ends: ("succeeded", ""),
        public: &[],
    },
    Drilled {
        name: "the target lacks a name",
        lasting: Nothing,
        deadline: "1h",
        before: &[Edit(AMBER, Change::Lever(2))],
        meanwhile: Meanwhile::Nothing,
        like: &[Refused(Switchover, BLUE, "zone.nothing-vanishes")],
        ends: ("failed", "zone.nothing-vanishes"),
        public: &[],
    },
    Drilled {
        name: "a lever that the target alone has",
        lasting: Nothing,
        deadline: "1h",
        before: &[Edit(BLUE, Change::Front(1))],
        meanwhile: Meanwhile::Nothing,
        like: &[Refused(Switchover, BLUE, "zone.cross-closure")],
        ends: ("failed", "zone.cross-closure"),
        public: &[],
    },
    Drilled {
        name: "its time is over",
        lasting: Shares,
        deadline: "4s",
        before: &[],
        meanwhile: Meanwhile::Nothing,
        like: &[Begin(Switchover, BLUE), Until("shifting", "50%")],
        ends: ("failed", "it did not come to its end"),
        public: &[],
    },
    Drilled {
        name: "a failover takes the zone",
        lasting: Lowering,
        deadline: "1h",
        before: &[],
        meanwhile: Meanwhile::Step(Begin(Failover, CORAL)),
        like: &[Begin(Switchover, BLUE)],
        ends: ("interrupted", "a failover to coral has begun"),
        public: &[Begin(Failover, CORAL), Rest],
    },
    Drilled {
        name: "its operator ends it",
        lasting: Lowering,
        deadline: "1h",
        before: &[],
        meanwhile: Meanwhile::Command("drill wiki.example --abort --reason test"),
        like: &[Begin(Switchover, BLUE)],
        ends: ("interrupted", "ended it: test"),
        public: &[],
    },
    Drilled {
        name: "the process is killed",
        lasting: Lowering,
        deadline: "1h",
        before: &[],
        meanwhile: Meanwhile::Step(Killed),
        like: &[Begin(Switchover, BLUE)],
        ends: ("interrupted", "the daemon ended"),
        public: &[],
    },
];

impl Drilled {
    /// Where it comes to in simulation, after what was done before.
    fn in_simulation(&self, steps: &[Step]) -> End {
        let mut world = InSimulation::new(self.lasting);
        self.before.iter().chain(steps).for_each(|step| world.step(*step));
        world.stands()
    }

    /// Where it comes to on the real program: the public, and the drill.
    fn for_real(&self, mut live: Live) -> [End; 2] {
        self.before.iter().for_each(|step| live.step(*step));
        live.command(&format!("drill {ZONE} --to blue --detach"));
        if !matches!(self.meanwhile, Meanwhile::Nothing) {
            live.wait("the drill's move", |_| live.has_told("in a drill: switchover 1 to blue"));
        }
        match self.meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Step(step) => live.step(step),
            Meanwhile::Command(line) => live.command(line),
        }
        let zone = live.wait("the end of the drill", |zone| zone["last_drill"]["end"].is_object());
        let end = &zone["last_drill"]["end"];
        assert_eq!(end["outcome"], self.ends.0, "{}: {end:#}", self.name);
        assert!(end["why"].as_str().unwrap().contains(self.ends.1), "{}: {end:#}", self.name);
        let [public, mut drill] = live.end();
        if self.ends.0 == "interrupted" {
            // Broken off while its listeners are asked, it does not know what they give: that holds its move.
            drill.moves.iter_mut().filter(|moved| *moved == "held").for_each(|moved| *moved = "under way".into());
        }
        [public, drill]
    }
}

#[test]
fn drills_end_as_their_like_in_simulation() {
    let world = |drilled: &Drilled| {
        let deadline = format!("  [zone.drill]\n  deadline = '{}'\n", drilled.deadline);
        (drilled.name, Live::configured(drilled.lasting, &deadline))
    };
    all_at_once(DRILLS, world, |drilled, live| {
        let like = [drilled.public, drilled.like].map(|steps| drilled.in_simulation(steps));
        assert_eq!(drilled.for_real(live), like, "{}: the public, and the drill", drilled.name);
    });
}
