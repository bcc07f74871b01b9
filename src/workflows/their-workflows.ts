/** A placeholder: in a bundle with workflows of the user, the bundler puts the user's module in its place. */
export const theirs = undefined
