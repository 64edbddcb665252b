const units = ['bytes', 'KiB', 'MiB', 'GiB'] as const

export function sizeText(bytes: number): string {
  if (bytes === 1) return '1 byte'
  const step = Math.min(units.length - 1, bytes === 0 ? 0 : Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** step
  return `${value >= 10 || step === 0 ? Math.round(value) : value.toFixed(1)} ${units[step]!}`
}
