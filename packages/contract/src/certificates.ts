/** Codes of an error of TLS when a certificate is not accepted: those of OpenSSL, and of one for another host. */
const codes = /^(UNABLE_TO_|(DEPTH_ZERO_)?SELF_SIGNED_CERT|CERT_|ERR_TLS_CERT_ALTNAME_INVALID$)/

export const isCertificateCode = (code: string): boolean => codes.test(code)
