"""Commands on what was learned of sites: models, rules, reports."""
