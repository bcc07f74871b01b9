import { registerHooks } from 'node:module'

/** What a client-only service does not install, and what of us belongs to workers; endpoints have ThreadState (decision 36). */
const ABSENT = /^@temporalio\/(worker|core-bridge|workflow|activity|testing)(\/|$)/
const OURS = /\/src\/(worker|workflows|testing|model|thread)\//

// As in a folder without these packages.
registerHooks({
  resolve(specifier, context, next) {
    if (ABSENT.test(specifier)) throw new Error(`Cannot find package '${specifier}'`)
    const resolved = next(specifier, context)
    if (OURS.test(resolved.url)) throw new Error(`Loaded ${resolved.url}, from ${context.parentURL}`)
    return resolved
  },
})
