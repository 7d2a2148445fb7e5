/* names.c - names that say what a column is, in the usual languages. */
#include <string.h>

#include "core/text.h"
#include "import/import.h"

/* In small letters without accents and with digits only; "id" may stand before and behind those of
 * `words`, and a number or code is an id too. */
static const char *const whole_names[CWI_N_ROLES] = {
    "user|userid|users|uid|username|customer|customerid|reviewer|reviewerid|member|memberid|"
    "visitor|visitorid|account|accountid|person|personid|profile|profileid|session|sessionid",
    "item|itemid|items|iid|movie|movieid|film|filmid|business|businessid|product|productid|asin|"
    "parentasin|book|bookid|isbn|song|songid|track|trackid|artist|artistid|venue|venueid|"
    "location|locationid|poi|poiid|place|placeid|gmapid|news|newsid|article|articleid|game|"
    "gameid|app|appid|anime|animeid|video|videoid|outfit|outfitid|sku|recipe|recipeid",
    "rating|ratings|score|stars|star|weight|overall|bookrating|reviewrating|value|preference",
    "timestamp|time|date|datetime|ts|unixtime|unixreviewtime|reviewtime|createdat|ratedat",
};

/* German, French, Spanish, Italian, Portuguese, Dutch, Polish, Czech, Swedish, Danish and
 * Norwegian, Finnish, Turkish, Indonesian, Russian and Ukrainian, Chinese, Japanese, Korean. */
static const char *const words[CWI_N_ROLES] = {
    "nutzer|benutzer|anwender|kunde|kunden|besucher|mitglied|teilnehmer|"
    "utilisateur|client|visiteur|membre|abonne|acheteur|"
    "usuario|cliente|visitante|miembro|utente|visitatore|membro|utilizador|"
    "gebruiker|klant|bezoeker|lid|uzytkownik|klient|odwiedzajacy|uzivatel|zakaznik|"
    "anvandare|kund|medlem|besokare|bruger|bruker|kunder|kayttaja|asiakas|"
    "kullanici|musteri|uye|pengguna|pelanggan|"
    "пользователь|клиент|покупатель|юзер|користувач|клієнт|покупець|"
    "用户|使用者|客户|顾客|会员|用戶|客戶|会員|ユーザー|ユーザ|利用者|顧客|사용자|유저|고객|회원",
    "artikel|produkt|ware|buch|objekt|gegenstand|"
    "produit|livre|objet|chanson|"
    "articulo|producto|libro|pelicula|cancion|"
    "articolo|prodotto|oggetto|brano|"
    "produto|artigo|livro|filme|musica|boek|"
    "przedmiot|towar|ksiazka|polozka|zbozi|kniha|"
    "vara|bok|vare|bog|tuote|kirja|elokuva|urun|kitap|barang|buku|produk|"
    "товар|предмет|объект|фильм|книга|продукт|артикул|фільм|"
    "商品|物品|产品|产品编号|电影|書籍|图书|產品|アイテム|製品|作品|映画|상품|아이템|제품|영화|"
    "도서",
    "bewertung|wertung|note|punkte|sterne|gewicht|wert|"
    "notation|evaluation|etoiles|poids|valeur|avis|"
    "valoracion|calificacion|puntuacion|puntaje|nota|estrellas|peso|valor|"
    "voto|valutazione|punteggio|stelle|valore|"
    "avaliacao|classificacao|pontuacao|estrelas|"
    "beoordeling|waardering|cijfer|sterren|score|ocena|gwiazdki|hodnoceni|znamka|"
    "betyg|omdome|bedommelse|karakter|vurdering|arvosana|arvio|puan|oylama|peringkat|nilai|"
    "оценка|рейтинг|балл|оцінка|"
    "评分|评价|分数|星级|得分|評分|評価|点数|スコア|評点|평점|별점|점수|등급",
    "zeit|datum|zeitstempel|zeitpunkt|uhrzeit|erstelltam|"
    "horodatage|temps|heure|dateheure|"
    "fecha|hora|tiempo|fechahora|marcadetiempo|"
    "data|ora|tempo|dataora|datahora|carimbo|"
    "tijd|tijdstip|tijdstempel|czas|znacznikczasu|cas|casoverazitko|"
    "tid|tidpunkt|tidsstampel|tidspunkt|dato|aika|paivamaara|aikaleima|tarih|zaman|saat|"
    "tanggal|waktu|"
    "дата|время|час|метка|датавремя|"
    "时间|日期|时间戳|時間|日時|日付|タイムスタンプ|時刻|시간|날짜|일시|타임스탬프",
};

enum { PLAIN_BYTES = 64, FIRST_ACCENT = 0xc0, LAST_ACCENT = 0x17f };

/* The letters without accents of U+00C0 to U+017F; a dot is none that names have. */
static const char accents[] = "aaaaaaaceeeeiiiidnooooo.ouuuuy.saaaaaaaceeeeiiiidnooooo.ouuuuy.y"
                              "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
                              "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/* One character of UTF-8 at text; *used is its length.  Anything else is passed byte by byte. */
static uint32_t take_character(const char *text, size_t length, size_t *used)
{
    const unsigned char *byte = (const unsigned char *)text;
    *used = 1;
    if (byte[0] < 0xc0 || length < 2) return byte[0];
    if (byte[0] < 0xe0) {
        *used = 2;
        return (uint32_t)((byte[0] & 0x1f) << 6 | (byte[1] & 0x3f));
    }
    *used = byte[0] < 0xf0 ? 3 : 4;
    if (*used > length) *used = length;
    return UINT32_MAX; /* no letter that has a small one */
}

static bool is_between(uint32_t code)
{
    return code == '_' || code == '-' || code == ' ' || code == '.' || code == '/' || code == '#';
}

static size_t put_cyrillic(uint32_t code, char *out)
{
    if (code >= 0x410 && code <= 0x42f) code += 0x20;
    if (code >= 0x400 && code <= 0x40f) code += 0x50;
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3f));
    return 2;
}

/* A name in small letters without accents, blanks and the like; false: it is too long. */
static bool print_plain(cwi_text name, char out[PLAIN_BYTES])
{
    size_t length = 0, used;

    for (size_t at = 0; at < name.length; at += used) {
        uint32_t code = take_character(name.at + at, name.length - at, &used);
        if (is_between(code)) continue;
        if (length + 5 > PLAIN_BYTES) return false;
        if (code < 0x80) {
            out[length++] = (char)(code >= 'A' && code <= 'Z' ? code - 'A' + 'a' : code);
        } else if (used == 2 && code >= FIRST_ACCENT && code <= LAST_ACCENT) {
            out[length++] = accents[code - FIRST_ACCENT];
        } else if (used == 2 && code >= 0x400 && code < 0x480) {
            length += put_cyrillic(code, out + length);
        } else {
            memcpy(out + length, name.at + at, used);
            length += used;
        }
    }
    out[length] = '\0';
    return length > 0;
}

/* Take off "id" before a name, or what means a number behind it. */
static bool strip_id(char *plain)
{
    static const char *const behind[] = {"id",   "nr",   "nummer", "numero", "num",
                                         "编号", "番号", "번호",   "ид"};
    size_t length = strlen(plain);

    for (size_t b = 0; b < sizeof behind / sizeof behind[0]; b++)
        if (cwi_ends_with(plain, behind[b])) {
            plain[length - strlen(behind[b])] = '\0';
            return true;
        }
    if (length < 3 || strncmp(plain, "id", 2) != 0) return false;
    memmove(plain, plain + 2, length - 1);
    return true;
}

bool cwi_names_know(cwi_role role, cwi_text name)
{
    char plain[PLAIN_BYTES];
    return print_plain(name, plain) && cwi_word_index(whole_names[role], plain) >= 0;
}

bool cwi_names_translate(cwi_role role, cwi_text name)
{
    char plain[PLAIN_BYTES];

    if (!print_plain(name, plain)) return false;
    if (cwi_word_index(words[role], plain) >= 0) return true;
    bool has_id = role == CWI_ROLE_USER || role == CWI_ROLE_ITEM;
    return has_id && strip_id(plain) &&
           (cwi_word_index(words[role], plain) >= 0 ||
            cwi_word_index(whole_names[role], plain) >= 0);
}
