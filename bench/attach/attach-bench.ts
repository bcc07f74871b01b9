/** What does a child cost that begins with a file, from 1 KB to 100 MB? */
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult, Figure } from '../figure.js'
import { machineAt } from '../machine.js'
import { median } from '../median.js'
import { measureAttachments } from './measure-attachments.js'
import type { MeasuredSize } from './measure-attachments.js'

const HEAD = ['file', 'prepareChild ms', 'copy ms', 'longest copy', 'children']

export async function attachBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const measured = await measureAttachments(servers)
  return {
    figures: measured.flatMap(figuresOf),
    table: [HEAD, ...measured.map(lineOf)],
    notes: [
      'prepareChild: the whole activity that writes a child, in the worker; without a file it is the first line.',
      'copy: what that activity does for the file, in a transaction of its own: begin, row of the file, commit.',
      'How each figure is made: bench/README.md',
    ],
    machine: await machineAt(servers),
  }
}

function figuresOf({ size, prepareChild, copy }: MeasuredSize): readonly Figure[] {
  const name = size.name.replace(' ', '').toLowerCase()
  const figure = (what: string, times: readonly number[]): Figure => ({
    bench: 'attach',
    figure: `${what}_${name}_ms`,
    value: median(times),
    unit: 'ms',
  })
  return [...(copy.length > 0 ? [figure('copy', copy)] : []), figure('prepare_child', prepareChild)]
}

function lineOf({ size, prepareChild, copy }: MeasuredSize): readonly string[] {
  const copied = copy.length === 0 ? ['', ''] : [median(copy).toFixed(2), Math.max(...copy).toFixed(2)]
  return [size.name, median(prepareChild).toFixed(2), ...copied, String(prepareChild.length)]
}
