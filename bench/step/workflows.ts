// What the one worker of this bench runs: our thread, and the loop that it is measured against.
export { agentThread } from 'everthread/workflows'
export { bareLoop } from './bare-loop.js'
