import type { ModelDefinition } from '../../definitions/model.js'
import type { LanguageModel } from '../../model/language-model.js'
import { namesSecret, noteSecret } from '../../store/known-secrets.js'

const KEY_HEADER = /^(?:proxy-)?authorization$|^cookie$/i

/**
 * Notes the keys that the provider of a failed request sends, so that they are found in the error that quotes them. The
 * models of the AI SDK's packages hold a `config` whose `headers` they send; it is no part of the specification, so a model
 * without it is left to what else is known of secrets (`store/known-secrets.ts`).
 */
export function noteProviderKeys(candidate: ModelDefinition, model: LanguageModel | null): void {
  const noteAll = (headers: unknown): void => {
    if (typeof headers !== 'object' || headers === null) return
    for (const [header, value] of Object.entries(headers))
      if (typeof value === 'string' && (KEY_HEADER.test(header) || namesSecret(header)))
        noteSecret(`of ${candidate.name}`, value.replace(/^(?:Bearer|Basic|Token)\s+/i, ''))
  }
  try {
    const headers = sentHeaders(model)
    // A key that is fetched is most often there already, and has come before the failed answer is stored.
    if (headers instanceof Promise) headers.then(noteAll, () => undefined)
    else noteAll(headers)
  } catch {
    // A key that is missing throws here; the failure of the request says so.
  }
}

function sentHeaders(model: LanguageModel | null): unknown {
  const config = fieldOf(model, 'config')
  const headers = fieldOf(config, 'headers')
  return typeof headers === 'function' ? (headers.call(config) as unknown) : headers
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
