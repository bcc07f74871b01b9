export interface ModelChoice {
  readonly kind: 'openai' | 'anthropic' | 'compatible' | 'demo'
  readonly model: string
  readonly url: string
  readonly key: string
  /** For people: the model, and why it was chosen. */
  readonly why: string
}

/** By the environment: a server with OpenAI's format, OpenAI, Anthropic, else the demo's own model. */
export function chooseModel(environment: NodeJS.ProcessEnv): ModelChoice {
  const read = (name: string): string => environment[name] ?? ''
  const [url, openai, anthropic] = [
    read('OPENAI_BASE_URL'),
    read('OPENAI_API_KEY'),
    read('ANTHROPIC_API_KEY'),
  ]
  if (read('DEMO_MODEL_URL') === '' && url !== '') {
    const model = read('OPENAI_MODEL')
    if (model === '') throw new Error(`OPENAI_BASE_URL is set: set OPENAI_MODEL to a model of ${url}.`)
    return { kind: 'compatible', model, url, key: openai, why: `${model} at ${url} (OPENAI_BASE_URL is set)` }
  }
  if (read('DEMO_MODEL_URL') === '' && openai !== '') {
    const model = read('OPENAI_MODEL') || 'gpt-5-mini'
    return { kind: 'openai', model, url, key: openai, why: `${model} of OpenAI (OPENAI_API_KEY is set)` }
  }
  if (read('DEMO_MODEL_URL') === '' && anthropic !== '') {
    const model = read('ANTHROPIC_MODEL') || 'claude-sonnet-4-5'
    const why = `${model} of Anthropic (ANTHROPIC_API_KEY is set)`
    return { kind: 'anthropic', model, url, key: anthropic, why }
  }
  const why =
    'the demo model, a script in a process of its own; set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENAI_BASE_URL for a real one'
  return { kind: 'demo', model: 'demo', url: read('DEMO_MODEL_URL'), key: 'none', why }
}
