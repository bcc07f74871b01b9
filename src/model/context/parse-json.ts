/** Undefined for what is no JSON: models, hooks and older versions wrote it. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
