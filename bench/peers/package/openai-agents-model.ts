import { Usage } from '@openai/agents-core'
import type { AgentOutputItem, Model, ModelProvider } from '@openai/agents-core'

import { nextPage, think } from './turn.js'
import type { Turn } from './turn.js'

/** A provider whose one model calls the tool as often as the turn says, then answers. */
export function openAiAgentsProvider(turn: Turn): ModelProvider {
  const model: Model = {
    getResponse: async () => {
      const page = nextPage(turn)
      await think(turn)
      return {
        usage: new Usage({ requests: 1, inputTokens: 1000, outputTokens: 10, totalTokens: 1010 }),
        output: [answer(page)],
      }
    },
    getStreamedResponse: () => {
      throw new Error('Expected a call that does not stream.')
    },
  }
  return { getModel: () => model }
}

function answer(page: number | undefined): AgentOutputItem {
  if (page === undefined) {
    return {
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Done.' }],
    }
  }
  return {
    type: 'function_call',
    callId: `call-${page}`,
    name: 'lookUp',
    status: 'completed',
    arguments: JSON.stringify({ page }),
  }
}
