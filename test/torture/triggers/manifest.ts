/** svc.toml in each phase: triggers that stay, many that fire every minute, and some that appear, change and disappear. */
import type { Definition } from './epochs.ts'

/** Clock changes in order: by an hour, by half an hour, at midnight, and where only one zone changes. */
export const hourChanges = [
  '2027-03-14T07:00:00Z', // New York
  '2027-03-28T01:00:00Z', // Berlin
  '2027-04-03T15:00:00Z', // Lord Howe
  '2027-04-29T22:00:00Z', // Cairo
  '2027-09-05T04:00:00Z', // Santiago
  '2027-10-02T15:30:00Z', // Lord Howe
  '2027-10-31T01:00:00Z', // Berlin
  '2027-11-07T05:00:00Z', // Havana, and an hour later New York
  '2028-03-12T05:00:00Z', // Havana, and two hours later New York
  '2028-03-26T01:00:00Z', // Berlin
  '2028-04-01T15:00:00Z', // Lord Howe
].map((time) => Date.parse(time))

const timezones = [
  ...['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo'],
  ...['America/Havana', 'America/Santiago', 'Asia/Kathmandu'],
]

const always: [string, string, string][] = [
  ['berlin-night', '30 2 * * *', 'Europe/Berlin'],
  ['berlin-twice', '15,45 2,14 * * *', 'Europe/Berlin'],
  ['new-york-night', '30 1 * * *', 'America/New_York'],
  ['new-york-morning', '10 2 * * *', 'America/New_York'],
  ['new-york-hours', '30 */1 * * *', 'America/New_York'],
  ['lord-howe-night', '15 45 1 * * *', 'Australia/Lord_Howe'],
  ['lord-howe-morning', '15 2 * * *', 'Australia/Lord_Howe'],
  ['cairo-midnight', '0 0 * * *', 'Africa/Cairo'],
  ['havana-midnight', '30 0 * * *', 'America/Havana'],
  ['santiago-midnight', '0 0 * * *', 'America/Santiago'],
  ['kathmandu-work', '0 9-17 * * 1-5', 'Asia/Kathmandu'],
]

export function definitions(phase: { round: number; isBusy: boolean; many: number }): Definition[] {
  const { round, isBusy } = phase
  const zone = (index: number) => timezones[index % timezones.length]!
  return [
    ...always.map(([slug, cron, timezone]) => ({ slug, cron, timezone, enabled: true })),
    ...Array.from({ length: phase.many }, (_, index) => ({
      ...{ slug: `minute-${index}`, cron: `${(index * 7) % 60} * * * * *`, timezone: zone(index), enabled: isBusy },
    })),
    // A different one each time: due times of the previous one are not its own.
    { slug: 'changing', cron: `*/${2 + (round % 7)} * * * *`, timezone: zone(round), enabled: isBusy },
    { slug: `new-${round}`, cron: '*/3 * * * *', timezone: zone(round + 3), enabled: isBusy },
  ]
}

export function manifestOf(all: Definition[]): string {
  return all
    .map(({ slug, cron, timezone, enabled }) => {
      const when = `cron = "${cron}"\ntimezone = "${timezone}"\nenabled = ${enabled}`
      return `[[triggers]]\nslug = "${slug}"\ntype = "cron"\n${when}\nprompt = "Go."\n`
    })
    .join('\n')
}
