/** The specification of the AI SDK that the models of a provider must follow. */
const SPECIFICATION = 'v4'

/** A release of a provider's package that fits, in words that hold for packages that we do not know. */
const INSTALL =
  'install the release of its package that depends on @ai-sdk/provider 4, such as @ai-sdk/openai@4'

/** Says what is wrong with a model of another version of the AI SDK, whose streams nobody here could read. */
export function modelVersionProblem(model: unknown): string | undefined {
  const version = versionOf(model)
  return version === SPECIFICATION ? undefined : problemOf(version)
}

/** The same of a provider, without asking it for a model: older ones do not say it, their models do. */
export function providerVersionProblem(provider: unknown): string | undefined {
  const version = versionOf(provider)
  return version === SPECIFICATION || version === undefined ? undefined : problemOf(version)
}

function versionOf(holder: unknown): unknown {
  if ((typeof holder !== 'object' && typeof holder !== 'function') || holder === null) return undefined
  return 'specificationVersion' in holder ? holder.specificationVersion : undefined
}

function problemOf(version: unknown): string {
  // Only what looks like a version is repeated: it may come from anywhere.
  const got = typeof version === 'string' && /^[\w.-]{1,20}$/.test(version) ? version : 'another one'
  return `expected models of the AI SDK's specification ${SPECIFICATION}, got ${got}: ${INSTALL}`
}
