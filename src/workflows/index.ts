/** The sandbox door: bundled into the worker's workflow isolate. */
export { agentThread } from './agent-thread.js'
export { agentToolCall } from './tool-workflow.js'
