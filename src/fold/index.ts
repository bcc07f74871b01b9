export { fold } from './fold-events.js'
export type { FoldableSnapshot, FoldedChild, FoldedRequest, FoldedRun, FoldedThread } from './fold-events.js'
export type { JoinedFact, ThreadEvent } from '../protocol/events.js'
