//! Prints the page that `docs/surfaces.md` holds.

fn main() {
    print!("{}", comity_testkit::surfaces::page());
}
