//! What may be typed behind `probe`.

use clap::Subcommand;

use super::{pause, query_name, ttl, wait};
use crate::name::Name;
use crate::rr::RrType;
use crate::time::Ttl;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProbeSub {
    /// Measure resolvers: how long they keep what, how many caches there are, what habits they have
    #[command(after_help = "\
The daemon asks the resolvers for canaries: names below the zone of `[canary]` that are made for it,
and whose content changes at known times. It sees what they say, and when and from where they come
to ask. Each is asked `resolver.rate` questions a second at most (1, unless configured) and
`probe.daily_questions` in a day. Something has to be seen three times before it is said of a
resolver. A hold that is longer than it was watched reads `at least`.

With --json there is a line for each resolver, as it ends. Exit codes: 1: some could not be
measured; 7: the daemon ended.

Examples:
  understudy probe calibrate
  understudy probe calibrate quad9 campus --ttl 30s --ttl 5m --watch 15m
  understudy probe calibrate --json | jq '{name, caches, verdicts}'")]
    Calibrate {
        /// The resolvers, by their names [default: all that have an address]
        #[arg(value_name = "RESOLVER")]
        resolvers: Vec<String>,
        /// A TTL to measure at, instead of the configured ones (repeatable)
        #[arg(long = "ttl", value_name = "TTL", value_parser = canary_ttl)]
        ttls: Vec<Ttl>,
        /// How long a hold is watched for at most [default: as is configured]
        #[arg(long, value_name = "TIME", value_parser = wait)]
        watch: Option<Ttl>,
        /// Begin nothing, and follow what is under way
        #[arg(long, conflicts_with_all = ["resolvers", "ttls", "watch"])]
        attach: bool,
    },
    /// Show what resolvers give for a name of ours, again and again, until Ctrl-C
    #[command(after_help = "\
What a resolver gives is held against what our zone gives it, by its region and its side of a move:
  new       it gives that                       policy    it gives what others get, on purpose
  old       it gives something else, and may    stale     the same, beyond what TTLs allow
  negative  it says that there is nothing       failing   SERVFAIL
  unknown   it refuses or is silent
All of them count: a name is complete when each resolver is new or policy. Nothing is asked for that
our zone does not have, for resolvers would remember that it was not there.

With --json there is a line each time. Exit code with --once: 0 if it is complete, 1 if it is not;
without: 7 when the daemon ends.

Examples:
  understudy probe watch www.wiki.example
  understudy probe watch www.wiki.example AAAA --once --json | jq .counts")]
    Watch {
        /// The name, with or without the final dot
        #[arg(value_parser = query_name)]
        name: Name,
        /// The type
        #[arg(value_name = "TYPE", default_value = "A")]
        rtype: RrType,
        /// How long to wait in between
        #[arg(long, value_name = "TIME", default_value = "5s", value_parser = pause)]
        every: Ttl,
        /// Ask once
        #[arg(long)]
        once: bool,
    },
    /// Show what is known of each resolver, in a line
    List,
    /// Show all that is known of a resolver
    Show {
        /// The resolver, by its name
        resolver: String,
    },
}

fn canary_ttl(text: &str) -> Result<Ttl, String> {
    let fits = |ttl: &Ttl| *ttl > Ttl::ZERO && *ttl <= crate::canary::MAX_TTL;
    Some(ttl(text)?).filter(fits).ok_or_else(|| "it has to be from 1 s to 7 d".into())
}
