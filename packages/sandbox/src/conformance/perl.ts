/** A piece of bash that runs Perl code with the numbers of system calls as its arguments. */
export const perl = (code: string, ...calls: string[]) =>
  `perl -e '${code}' ${calls.map((call) => `"$SYS_${call}"`).join(' ')}`
