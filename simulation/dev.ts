import { runSeed } from './lives/schedule.js'
const [n = '1000', s = '1', tell = ''] = process.argv.slice(2)
const seen = new Map<string, number>()
const t = performance.now()
const rules = new Map<string, [number, string, number]>()
for (let i = 0; i < Number(n); i++) {
  const o = await runSeed(Number(s) + i, { seen, tells: tell !== '' })
  if (o.broken) { const r = rules.get(o.broken.rule); rules.set(o.broken.rule, r ? [r[0]+1, o.choices.length < r[2] ? (Number(s)+i)+' '+o.broken.detail : r[1], Math.min(r[2], o.choices.length)] : [1, (Number(s)+i)+' '+o.broken.detail, o.choices.length]) }
  if (tell) console.log(o.story.join('\n'), o.broken)
}
console.log(((performance.now() - t) / Number(n)).toFixed(3), 'ms each')
if (!tell) console.log([...seen].sort().map(([k, v]) => `${k}: ${v}`).join('\n'))
for (const [r, v] of [...rules].sort((a, b) => b[1][0] - a[1][0])) console.log(v[0], r, '|', v[1].slice(0, 300))
