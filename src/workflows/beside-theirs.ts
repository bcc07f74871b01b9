/** The sandbox door of a worker that also has workflows of its user: it exports those and ours. */
import * as theirs from './their-workflows.js'

export * from './their-workflows.js'
export { agentThread } from './agent-thread.js'
export { agentToolCall } from './tool-workflow.js'

const named: Readonly<Record<string, unknown>> = { ...theirs }
const own = named['default']

/** The user's default workflow, if there is one; an ES module sees that of a CommonJS module inside its `default`. */
export default typeof own === 'function' ? own : innerDefault(own)

function innerDefault(module: unknown): unknown {
  return typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
}
