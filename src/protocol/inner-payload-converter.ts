/** The converter that ours goes around: in a bundle, the bundler puts a user's own here if they have one. */
export { defaultPayloadConverter as payloadConverter } from '@temporalio/common'
