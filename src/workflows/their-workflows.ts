/** Where a user's workflows are in a bundle that has threads beside them: the bundler puts their module in the place of this one. */
export const theirs = undefined
