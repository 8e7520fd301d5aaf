//! Agents.

use comity_kernel::Error;
use comity_testkit::kit::register;
use comity_testkit::{Kit, both_engines};

both_engines! {
    fn a_name_is_taken_once(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let blue = kit.run(register("web", "Blue")).unwrap();
        assert!(blue.answer.created);
        let again = kit.run(register("/srv/web", "bLUE")).unwrap_err();
        assert!(matches!(again, Error::NameTaken { .. }), "{again:?}");
    }
}
