import type { WireAnswer } from './provider-wire.js'

/** What providers refuse with a 400 in a request that goes on with answers of theirs. */
export interface ProviderRules {
  /** An answer went out: what it signed has to come back. */
  issued(answer: WireAnswer): void
  /** Why the provider refuses the request; null: it does not. */
  problemOf(body: unknown): string | null
}

interface Block {
  readonly type: string
  readonly name?: string
  readonly input?: unknown
  readonly thinking?: string
  readonly signature?: string
}

/** As far as the rules look at it; each format has some of it. */
interface Body {
  readonly thinking?: { readonly type: string }
  readonly messages?: readonly {
    readonly role: string
    readonly content: string | readonly Block[] | null
    readonly tool_calls?: readonly {
      readonly function: { readonly name: string; readonly arguments: string }
      readonly extra_content?: { readonly google?: { readonly thought_signature?: string } }
    }[]
  }[]
  readonly input?: readonly {
    readonly type?: string
    readonly name?: string
    readonly arguments?: string
    readonly encrypted_content?: string
  }[]
  readonly contents?: readonly {
    readonly parts: readonly {
      readonly functionCall?: { readonly name: string; readonly args: unknown }
      readonly inlineData?: { readonly data: string }
      readonly thoughtSignature?: string
    }[]
  }[]
}

export function createProviderRules(): ProviderRules {
  /** By the call or file that they were given with: our ids are others. */
  const signatures = new Map<string, string>()
  /** By the signature: signed words must not change. */
  const thoughts = new Map<string, string>()
  /** What an item of reasoning was followed by. */
  const sealed = new Map<string, string>()

  function chatProblem({ messages = [] }: Body): string | null {
    const calls = messages.flatMap((message) => message.tool_calls ?? [])
    const lacking = calls.find(
      ({ function: { name, arguments: args }, extra_content: extra }) =>
        signatures.has(callKey(name, args)) &&
        extra?.google?.thought_signature !== signatures.get(callKey(name, args)),
    )
    return lacking === undefined
      ? null
      : `Function call ${lacking.function.name} is missing a thought_signature.`
  }

  function googleProblem({ contents = [] }: Body): string | null {
    const lacking = contents
      .flatMap(({ parts }) => parts)
      .find(({ functionCall, inlineData, thoughtSignature }) => {
        const key =
          functionCall === undefined
            ? inlineData?.data
            : callKey(functionCall.name, JSON.stringify(functionCall.args))
        return key !== undefined && signatures.has(key) && signatures.get(key) !== thoughtSignature
      })
    if (lacking === undefined) return null
    return `The part ${JSON.stringify(lacking).slice(0, 80)} is missing a thought_signature.`
  }

  function responsesProblem({ input = [] }: Body): string | null {
    const reasoning = input.flatMap((item) => (item.type === 'reasoning' ? [item.encrypted_content] : []))
    if (new Set(reasoning).size < reasoning.length) return 'Duplicate item found: reasoning.'
    for (const [index, item] of input.entries()) {
      if (item.type !== 'function_call') continue
      const seal = sealed.get(callKey(item.name ?? '', item.arguments ?? ''))
      if (seal === undefined) continue
      const before = input.slice(0, index).findLast((one) => one.type === 'reasoning')
      if (before?.encrypted_content !== seal)
        return `Item of type function_call was provided without its required reasoning item.`
    }
    return null
  }

  /** Of the last message of the assistant: consecutive ones are one. */
  function anthropicProblem({ messages = [], thinking }: Body): string | null {
    const last = messages.findLast(({ role }) => role === 'assistant')
    const blocks = Array.isArray(last?.content) ? (last.content as readonly Block[]) : []
    const thought = blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
    const changed = thought.find(
      (block) =>
        thoughts.has(block.signature ?? '') && thoughts.get(block.signature ?? '') !== block.thinking,
    )
    if (changed !== undefined) return 'Invalid `signature` in `thinking` block.'
    if (thinking?.type !== 'enabled')
      return thought.some(({ signature }) => thoughts.has(signature ?? ''))
        ? 'When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.'
        : null
    const calls = blocks.some(({ type }) => type === 'tool_use')
    if (!calls || blocks[0] === thought[0]) return null
    return (
      'Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final ' +
      '`assistant` message must start with a thinking block.'
    )
  }

  return {
    issued({ reasoning, files = [], toolCalls = [] }) {
      for (const { data, signature } of files) if (signature !== undefined) signatures.set(data, signature)
      for (const { name, input, signature } of toolCalls) {
        if (signature !== undefined) signatures.set(callKey(name, input), signature)
        if (reasoning !== undefined) sealed.set(callKey(name, input), reasoning.signature)
      }
      if (reasoning !== undefined) thoughts.set(reasoning.signature, reasoning.text)
    },
    problemOf(given) {
      const body = given as Body
      if (body.contents !== undefined) return googleProblem(body)
      if (body.input !== undefined) return responsesProblem(body)
      return chatProblem(body) ?? anthropicProblem(body)
    },
  }
}

function callKey(name: string, args: string): string {
  return `${name} ${JSON.stringify(JSON.parse(args || '{}'))}`
}
