export { useThread } from './use-thread.js'
export type { UsedThread, UseThread } from './use-thread.js'
