/**
 * Loaded before the simulation: puts the fake SDK in the place of `@temporalio/workflow`, and breaks the code on purpose
 * where a mutation is asked for. Node runs TypeScript by itself, but looks for the `.js` files that the specifiers name.
 */
import { registerHooks } from 'node:module'
import { workerData } from 'node:worker_threads'
import { MUTATIONS } from './mutations.ts'

const SDK = new URL('./temporal/sdk.ts', import.meta.url).href
const { mutation: name } = (workerData ?? {}) as { readonly mutation?: string }
const mutation = MUTATIONS.find((candidate) => candidate.name === name)
if (name !== undefined && mutation === undefined)
  throw new Error(`Expected the name of a mutation, got "${name}".`)

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@temporalio/workflow') return { url: SDK, shortCircuit: true }
    const own = specifier.startsWith('.') && context.parentURL?.endsWith('.ts')
    return next(own ? specifier.replace(/\.js$/, '.ts') : specifier, context)
  },
  load(url, context, next) {
    const loaded = next(url, context)
    if (mutation === undefined || !url.endsWith(mutation.file)) return loaded
    const source = textOf(loaded.source)
    if (source.split(mutation.find).length !== 2)
      throw new Error(`Expected ${mutation.file} to have the code of mutation "${mutation.name}" once.`)
    return { ...loaded, source: source.replace(mutation.find, () => mutation.replace) }
  },
})

function textOf(source: unknown): string {
  if (typeof source === 'string') return source
  return source instanceof Uint8Array ? new TextDecoder().decode(source) : ''
}
