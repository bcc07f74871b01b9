import type { Behaviour } from './thread-scripts.js'

/** A tool that runs until its thread is stopped: one that ended at that moment would wedge the time-skipping server. */
export const untilAborted: Behaviour = (state) =>
  new Promise((_, reject) => {
    state.execution?.abortSignal.addEventListener('abort', () => reject(new Error('aborted')))
  })
