import { textOf } from './chat-completions.ts'
import type { ChatAnswer, ChatMessage, ChatRequest } from './chat-completions.ts'

type Speaker = 'support' | 'researcher' | 'reviewer'

/** The part of a request since the last message of the person or of the other side. */
interface Turn {
  readonly said: string
  /** Results of its own calls by the name of the tool; the last one of each. */
  readonly results: ReadonlyMap<string, string>
  /** Paths of all files in the request, in order. */
  readonly files: readonly string[]
  /** The resumable subagent, from the runtime's note of subagents. */
  readonly subagent: string | undefined
}

/** The offered tools identify the prompt that makes the request. */
export function speakerOf({ tools = [] }: ChatRequest): Speaker {
  const names = new Set(tools.map(({ function: { name } }) => name))
  if (names.has('open_ticket')) return 'support'
  return names.has('annotate') ? 'researcher' : 'reviewer'
}

/** All rules of the demo model. */
export function answerTo(request: ChatRequest): ChatAnswer {
  const turn = turnOf(request)
  switch (speakerOf(request)) {
    case 'support':
      return /refund|broken/i.test(turn.said)
        ? refund(turn)
        : /leak|wet|tent/i.test(turn.said)
          ? inquiry(turn)
          : other(turn)
    case 'researcher':
      return researcher(turn)
    case 'reviewer':
      return reviewer(turn)
  }
}

function inquiry({ said, results, subagent }: Turn): ChatAnswer {
  const research = results.get('subagent_create')
  if (research === undefined)
    return {
      text: 'I am sorry to hear that. I will have your notes looked at.',
      call: {
        name: 'subagent_create',
        args: {
          agent: 'research',
          name: 'Wet tent',
          message: said.split('\n')[0],
          attachments: pathsIn(said),
        },
      },
    }
  const finding = research.split('\n')[0] ?? research
  if (!results.has('open_ticket'))
    return {
      text: 'We know more now. I open a ticket for the workshop.',
      call: { name: 'open_ticket', args: { subject: 'Tent leaks', details: finding } },
    }
  const again = results.get('subagent_message')
  if (again === undefined)
    return {
      text: 'The ticket is open. I have that noted, too.',
      call: {
        name: 'subagent_message',
        args: {
          referenceId: subagent,
          message: 'The workshop will seal it. Write that behind the same line.',
          attachments: [],
        },
      },
    }
  return {
    text:
      `${finding} Your notes, with our remarks, are in our conversation (${pathsIn(again)[0] ?? 'no file'}). ` +
      'I have opened a ticket: the workshop will seal the seam for you, free of charge.',
  }
}

const SUBJECT = 'Order A-17 arrived broken'

function refund({ results }: Turn): ChatAnswer {
  const ticket = results.get('open_ticket')
  if (ticket === undefined)
    return {
      text:
        'I am very sorry that your order arrived broken, and thank you for telling us so quickly. That is not ' +
        'how we want to send things out. First I open a ticket, so that the workshop looks at how this lamp was ' +
        'packed and at the others of the same batch that are still here on the shelf. Then I refund what you ' +
        'paid, to the card that you used for the order. You need not send anything back to us.',
      call: { name: 'open_ticket', args: { subject: SUBJECT, details: 'Check the packing.' } },
    }
  if (ticket.includes('unknown') && !results.has('find_ticket'))
    return {
      text: 'I was interrupted there. I look whether the ticket is open.',
      call: { name: 'find_ticket', args: { subject: SUBJECT } },
    }
  if (!results.has('refund_order'))
    return {
      text: 'The ticket is open. Now the refund.',
      call: { name: 'refund_order', args: { order: 'A-17', euros: 80 } },
    }
  return { text: 'The ticket is open and 80 euros are on their way to you. Sorry again for the trouble.' }
}

function other({ said }: Turn): ChatAnswer {
  return {
    text:
      `You said: "${said}". I am the demo model and follow a script: tell me that your tent leaks, or that ` +
      'your order is broken and you want a refund. With an API key in the environment a real model answers.',
  }
}

function researcher({ said, results, files: [path] }: Turn): ChatAnswer {
  if (path === undefined) return { text: 'There are no notes to look at.' }
  if (!results.has('read_file'))
    return { text: 'I read the notes.', call: { name: 'read_file', args: { path } } }
  const remark = said.includes('seal') ? 'the workshop will seal it' : 'the water came in at this seam'
  if (!results.has('annotate'))
    return {
      text: 'One line settles it.',
      call: { name: 'annotate', args: { path, words: 'seam', remark } },
    }
  return { text: `The notes are at ${path} with a remark.` }
}

function reviewer({ said, results }: Turn): ChatAnswer {
  const files = pathsIn(said)
  const [path] = files
  const notes = results.get('read_file')
  if (path !== undefined && notes === undefined)
    return { text: 'I read the notes.', call: { name: 'read_file', args: { path } } }
  const remark = notes
    ?.split('\n')
    .find((line) => line.includes('←'))
    ?.split('← ')
    .at(-1)
  const summary = remark === undefined ? 'There is nothing to rest on.' : `The notes say now: ${remark}.`
  return { text: 'It stands on evidence: approved.', call: { name: 'approve', args: { summary, files } } }
}

function turnOf({ messages }: ChatRequest): Turn {
  // Notes that the runtime adds at the end, such as the list of subagents, are no turn of a speaker.
  const isNote = (message: ChatMessage): boolean => textOf(message).startsWith('System note:')
  const spoken = (message: ChatMessage): boolean => message.role === 'user' && !isNote(message)
  const start = messages.findLastIndex(spoken)
  const names = new Map(
    messages.flatMap(({ tool_calls = [] }) =>
      tool_calls.map((call) => [call.id, call.function.name] as const),
    ),
  )
  const results = messages
    .slice(start + 1)
    .filter(({ role }) => role === 'tool')
    .map((message) => [names.get(message.tool_call_id ?? '') ?? '', textOf(message)] as const)
  const last = messages[start]
  return {
    said: last === undefined ? '' : textOf(last),
    results: new Map(results),
    files: messages.filter(spoken).flatMap((message) => pathsIn(textOf(message))),
    subagent: messages
      .filter(isNote)
      .map(firstReference)
      .findLast((reference) => reference !== undefined),
  }
}

function firstReference(note: ChatMessage): string | undefined {
  return /^\{"reference":"([^"]+)"/m.exec(textOf(note))?.[1]
}

function pathsIn(text: string): readonly string[] {
  return text.match(/(?<= at )\/\S+/g) ?? []
}
