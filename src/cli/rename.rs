//! `rename`: begun, and followed until what refers to the lever leads to the fresh name.

use std::io::Write as _;
use std::time::Duration;

use super::daemon::{at_once, runtime};
use super::live::{Live, Lost, line};
use super::render::Report as _;
use super::{Exit, ended, print, render, show};
use crate::config::Source;
use crate::control::api::rename::{
    RenameOutcome, RenameReport, RenameRequest, RenameStatus, RenamesReport, RenamesRequest,
};
use crate::control::api::{Failure, Request, Response};

/// How often the daemon is asked.
const PAUSE: Duration = Duration::from_millis(200);

/// Has the daemon begin, and follows it.
pub(super) fn run(source: &Source, request: RenameRequest, json: bool) -> Exit {
    let report = at_once(source, &Request::Rename(request), |response| match response {
        Response::Rename(report) => Some(*report),
        _ => None,
    });
    let report = match report {
        Ok(report) if matches!(report.outcome, RenameOutcome::Begun { .. }) => report,
        other => return show(json, other),
    };
    let text = if json { line(&report) } else { report.text() };
    if let Err(error) = print(text.as_bytes()) {
        return ended(Exit::Error, Err(error));
    }
    let follow =
        || -> Result<Exit, Lost> { runtime()?.block_on(follow_to_the_end(Live::of(source, true)?, &report, json)) };
    follow().unwrap_or_else(|lost| {
        let next = format!("`understudy serve`; then `understudy rename {}`", report.zone.as_ref().dotless());
        lost.shown(json, "what is published stays; the rename goes on when the daemon runs", &next)
    })
}

/// Shows what is known of a zone's levers.
pub(super) fn list(source: &Source, request: RenamesRequest, json: bool) -> Exit {
    let (print_only, report) = (request.print, renames(source, request));
    match report {
        Ok(RenamesReport { lines: Some(lines), zone, .. }) if print_only && !json && lines.is_empty() => {
            let zone = zone.as_ref().dotless();
            let _ = writeln!(std::io::stderr(), "understudy: nothing of {zone} is renamed: there is nothing to print");
            Exit::Done
        }
        Ok(RenamesReport { lines: Some(lines), .. }) if print_only && !json => {
            ended(Exit::Done, print(lines.as_bytes()))
        }
        report => show(json, report),
    }
}

fn renames(source: &Source, request: RenamesRequest) -> Result<RenamesReport, Failure> {
    at_once(source, &Request::Renames(request), known)
}

fn known(response: Response) -> Option<RenamesReport> {
    match response {
        Response::Renames(report) => Some(*report),
        _ => None,
    }
}

async fn follow_to_the_end(mut live: Live, begun: &RenameReport, json: bool) -> Result<Exit, Lost> {
    let zone = begun.zone.as_ref().dotless();
    let mut shown: Option<RenameStatus> = None;
    loop {
        let request = RenamesRequest { zone: zone.clone(), fronts: false, print: false };
        let report = live.ask(&Request::Renames(request), known).await?;
        let Some(now) = report.renames.into_iter().find(|rename| rename.fresh == begun.fresh) else {
            let what = format!("the rename of {} to {} was taken back or ended meanwhile", begun.lever, begun.fresh);
            return Err(Failure::new(what, "", format!("understudy history {zone}")).into());
        };
        if shown.as_ref() != Some(&now) {
            let text = if json { line(&now) } else { render::rename::progress(&now) };
            if let Err(error) = print(text.as_bytes()) {
                return Ok(ended(Exit::Error, Err(error)));
            }
        }
        if let Some(exit) = exit(&now) {
            return Ok(exit);
        }
        shown = Some(now);
        tokio::time::sleep(PAUSE).await;
    }
}

/// How the command ends, if it is time.
fn exit(now: &RenameStatus) -> Option<Exit> {
    match now.stage.as_str() {
        "confirmed" if now.spare => Some(Exit::Done),
        // A later rename of the lever takes over from one that is through.
        "referenced" | "superseded" => Some(Exit::Done),
        "returned" | "retired" => Some(Exit::Reversed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_followed_until_the_fronts_lead_there_or_never_will() {
        let name = |text: &str| crate::name::Name::absolute(text).unwrap();
        let now = |stage: &str, spare| RenameStatus {
            lever: name("edge.x.example"),
            fresh: name("edge-r1.x.example"),
            stage: stage.into(),
            spare,
            waits_for: Vec::new(),
            try_next: None,
        };
        for (stage, spare, ends) in [
            ("staged", false, None),
            ("confirmed", false, None),
            ("confirmed", true, Some(Exit::Done)),
            ("referenced", false, Some(Exit::Done)),
            ("superseded", false, Some(Exit::Done)),
            ("returned", false, Some(Exit::Reversed)),
            ("retired", false, Some(Exit::Reversed)),
        ] {
            assert_eq!(exit(&now(stage, spare)), ends, "{stage}");
        }
    }
}
