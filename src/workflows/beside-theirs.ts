/** The sandbox door of a worker that has workflows of its user too: those and `agentThread`, and nothing to re-export by hand. */
import * as theirs from './their-workflows.js'

export * from './their-workflows.js'
export { agentThread } from './agent-thread.js'

const named: Readonly<Record<string, unknown>> = { ...theirs }
const own = named['default']

/** Their workflow of any name, if they have one; seen from an ES module, one of CommonJS is within its own default. */
export default typeof own === 'function' ? own : innerDefault(own)

function innerDefault(module: unknown): unknown {
  return typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
}
