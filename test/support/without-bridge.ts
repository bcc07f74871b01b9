import { registerHooks } from 'node:module'

/** What a client-only service does not install, and what of us belongs to workers. */
const ABSENT = /^@temporalio\/(worker|core-bridge|workflow|activity|testing)(\/|$)/
const OURS = /\/src\/(worker|activities|workflows|testing|model|thread)\//
/** Thread endpoints alone have the ThreadState of activities, and what it imports of them (decision 36). */
const STATE = /\/src\/activities\//
const ENDPOINTS = /\/src\/(server\/endpoints|activities)\//

// As in a folder without these packages.
registerHooks({
  resolve(specifier, context, next) {
    if (ABSENT.test(specifier)) throw new Error(`Cannot find package '${specifier}'`)
    const resolved = next(specifier, context)
    const isState = STATE.test(resolved.url) && ENDPOINTS.test(context.parentURL ?? '')
    if (OURS.test(resolved.url) && !isState)
      throw new Error(`Loaded ${resolved.url}, from ${context.parentURL}`)
    return resolved
  },
})
