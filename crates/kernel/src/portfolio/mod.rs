//! Portfolios: runs that have children, and runs that wait for each other.
