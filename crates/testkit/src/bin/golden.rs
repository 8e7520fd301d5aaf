//! Prints the golden log of this version; a release keeps it under `golden/`.

fn main() {
    print!("{}", comity_testkit::golden::write());
}
