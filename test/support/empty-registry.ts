import { registry } from '../../src/definitions/registry.js'

/** For workers that never run a thread. */
export const emptyRegistry = registry({ agents: [], prompts: [], models: [] })
