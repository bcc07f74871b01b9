/**
 * The converter that this package's converter wraps. In a bundle the bundler replaces it by the user's own, if there is
 * one.
 */
export { defaultPayloadConverter as payloadConverter } from '@temporalio/common'
